"""Graphs in other programs' formats."""
