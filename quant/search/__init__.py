"""Which layers cost accuracy, and the cheapest precision of each under a target: measured with the integer engine."""
