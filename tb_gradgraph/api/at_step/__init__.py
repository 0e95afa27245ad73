"""Tells the user what is wrong with a training, while it runs."""
