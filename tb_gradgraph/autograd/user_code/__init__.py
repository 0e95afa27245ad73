"""The user's frames, lines and functions."""
