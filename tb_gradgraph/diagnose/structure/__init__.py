"""What the structure of a graph says by itself."""
