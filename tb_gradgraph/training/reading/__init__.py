"""What a backward of the user's shows."""
