"""The version of this package, which logs and answers carry."""

__version__ = "0.1.0"
