"""Which tensors without gradient operations used, as running lines and calls show it."""
