"""Reads what the objects of a program say of a training."""
