"""Converts graphs to the formats of other programs."""
