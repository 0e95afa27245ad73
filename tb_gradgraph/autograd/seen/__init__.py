"""Observes the user's own forward without changing it."""
