"""Computes sums over elements. It does not depend on gradients or records."""
