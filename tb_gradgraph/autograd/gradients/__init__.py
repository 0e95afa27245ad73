"""Hooks on a graph, and the gradients that they read."""
