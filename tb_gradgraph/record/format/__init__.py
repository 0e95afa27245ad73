"""Implements FORMAT.md: the format in which records are stored."""
