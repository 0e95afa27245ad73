"""A training loop in, records of its steps out."""
