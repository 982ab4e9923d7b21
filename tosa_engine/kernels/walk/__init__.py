"""The compiled walk over the steps of a plan, and how workers share it."""
