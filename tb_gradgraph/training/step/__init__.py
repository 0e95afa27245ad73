"""Turns the passes of one training step into its records."""
