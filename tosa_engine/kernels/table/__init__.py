"""TABLE: look-ups in vectors."""
