"""Statistics of the user's own: what they are, and how they are run on recorded steps."""
