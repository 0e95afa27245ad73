"""Rules that look at the steps of a training together."""
