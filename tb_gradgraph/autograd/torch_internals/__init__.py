"""Torch's autograd engine and its private parts; each is used in one place only."""
