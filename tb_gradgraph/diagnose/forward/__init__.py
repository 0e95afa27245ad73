"""Finds where in a forward NaN and infinity began."""
