"""From records to event files."""
