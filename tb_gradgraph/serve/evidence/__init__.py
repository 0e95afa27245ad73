"""What several routes show, taken from the records."""
