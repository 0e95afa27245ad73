"""What is known about a forward."""
