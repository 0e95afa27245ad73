"""Torch's autograd engine and its private parts, each in one place."""
