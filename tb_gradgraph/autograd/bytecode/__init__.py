"""Finds what lines of Python do, from their bytecode; nothing is run."""
