"""What runs a plan: memory of a run, workers, programs, verdicts and sessions."""
