"""Builds our graph from autograd's graph and what was seen of the forward."""
