"""What the user's backward shows."""
