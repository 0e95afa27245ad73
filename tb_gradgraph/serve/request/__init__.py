"""What a request asks for, and the form of the answer."""
