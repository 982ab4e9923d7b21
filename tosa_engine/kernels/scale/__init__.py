"""RESCALE: as a loop, in the epilogue of sums, and around elementwise operators."""
