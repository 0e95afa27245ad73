"""torch in, graph and live gradients out."""
