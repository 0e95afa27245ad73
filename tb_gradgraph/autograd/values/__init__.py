"""Passes on the tensors that the user's own forward makes, while it runs."""
