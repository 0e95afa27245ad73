"""Reads the user's frames, lines and functions."""
