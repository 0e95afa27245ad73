"""Looks at every step of a training, at what the loop computes anyway."""
