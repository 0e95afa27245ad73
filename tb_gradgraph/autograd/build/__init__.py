"""Makes graphs of the package's own form from what was seen of autograd's."""
