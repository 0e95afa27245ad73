"""Collects from the records what several routes show."""
