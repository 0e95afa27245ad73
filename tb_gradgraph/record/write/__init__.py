"""Writes records to event files."""
