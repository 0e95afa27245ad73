"""What a request asks for, and the form of its answer."""
