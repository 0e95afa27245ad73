"""The parameters of a request, and the form of its answer."""
