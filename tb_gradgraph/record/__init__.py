"""Values to bytes and back, and the thread that writes them; FORMAT.md is the contract."""
