"""Callbacks for other libraries' trainers, each in a module that imports its library."""
