"""From event files to records."""
