"""Callbacks for the trainers of other libraries. Each module imports its library."""
