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
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"RuntimeWarning: {text}", file=sys.stderr)
