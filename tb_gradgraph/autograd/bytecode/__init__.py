"""What lines of Python do, read from their bytecode; nothing is run."""
