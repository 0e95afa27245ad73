"""Runs one forward and backward of our own."""
