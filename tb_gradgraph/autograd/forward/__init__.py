"""What is known of a forward."""
