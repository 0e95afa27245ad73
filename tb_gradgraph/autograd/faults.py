"""Tell of a fault of our own without harming the user's forward or backward."""

from __future__ import annotations

import sys
import warnings


def warn_of_fault(what: str, error: Exception, consequence: str) -> None:
    """Warn once; where the user made warnings errors, write to standard error instead."""
    text = (
        f"tb_gradgraph {what} after a fault of its own ({type(error).__name__}: {error}). "
        f"{consequence}"
    )
    warn_quietly(text, RuntimeWarning)


def warn_quietly(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn where nothing may be raised: to standard error where the user made warnings errors."""
    try:
        warnings.warn(text, category, stacklevel=4)
    except Warning:
        print(f"{category.__name__}: {text}", file=sys.stderr)
