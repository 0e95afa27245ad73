"""The stored form: FORMAT.md, in code."""
