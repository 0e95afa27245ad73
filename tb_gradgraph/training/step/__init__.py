"""One training step, from its passes to its records."""
