"""Finds, reads and caches the runs of a log directory."""
