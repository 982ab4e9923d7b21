"""Where a plan keeps tensors: views, shared bytes, lifetimes and the arena."""
