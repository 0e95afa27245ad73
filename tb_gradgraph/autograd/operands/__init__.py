"""Finds the tensors without gradient that operations used, from running lines and calls."""
