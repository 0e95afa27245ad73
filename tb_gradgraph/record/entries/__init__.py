"""Columns with one entry for each number, where most records and rows have none."""
