"""How findings are written: for terminals, programs, pages and pictures."""
