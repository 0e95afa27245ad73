"""What can be seen of the user's own forward."""
