"""Collects what is known about a forward."""
