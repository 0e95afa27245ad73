"""Reads the gradients of the user's backward passes."""
