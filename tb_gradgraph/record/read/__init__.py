"""Reads records from event files."""
