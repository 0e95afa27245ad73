"""The fixture of this folder."""

from tests.training.own.added import add

__all__ = ["add"]
