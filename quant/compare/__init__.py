"""Models and dumps next to each other, tensor by tensor."""
