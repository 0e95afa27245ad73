"""Sums over elements, which know nothing of gradients or records."""
