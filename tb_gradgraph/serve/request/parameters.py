"""Check query parameters before use. A wrong one is answered with a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MAX_TEXT = 2048
MAX_DIGITS = 20
_INT64 = 2**63


class RequestError(Exception):
    """A request that cannot be answered: a status of 400 or 404, and a message."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def bad_request(sentence: str) -> RequestError:
    """Make the error for a parameter that is missing or malformed."""
    return RequestError(400, sentence)


def not_found(sentence: str) -> RequestError:
    """Make the error for something that does not exist."""
    return RequestError(404, sentence)


class Parameters:
    """The parameters of one request. Every method raises RequestError with status 400 if one is wrong."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query

    def text(self, name: str) -> str:
        """Return a required text."""
        text = self.optional_text(name)
        if text is None:
            raise bad_request(f"Expected the parameter {name!r}, got none.")
        return text

    def optional_text(self, name: str) -> str | None:
        """Return a text of limited length, or ``None``."""
        text = self._query.get(name)
        if text is not None and len(text) > MAX_TEXT:
            raise bad_request(
                f"Expected {name!r} to have at most {MAX_TEXT} characters, got {len(text)}."
            )
        return text

    def integer(self, name: str) -> int:
        """Return a required signed number of 64 bits."""
        number = self.optional_integer(name)
        if number is None:
            raise bad_request(f"Expected the parameter {name!r}, got none.")
        return number

    def optional_integer(self, name: str) -> int | None:
        """Return a signed number of 64 bits, or ``None``."""
        text = self.optional_text(name)
        if not text:
            return None
        digits = text.removeprefix("-")
        if len(digits) > MAX_DIGITS or not (digits.isascii() and digits.isdigit()):
            raise bad_request(f"Expected {name!r} to be a whole number, got {text[:40]!r}.")
        number = int(text)
        if not -_INT64 <= number < _INT64:
            raise bad_request(f"Expected {name!r} to fit in 64 bits, got {text}.")
        return number

    def natural(self, name: str) -> int | None:
        """Return a number of at least 0, or ``None``."""
        number = self.optional_integer(name)
        if number is not None and number < 0:
            raise bad_request(f"Expected {name!r} not to be negative, got {number}.")
        return number

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return one of ``choices``, which is required."""
        text = self.text(name)
        if text not in choices:
            expected = ", ".join(choices)
            raise bad_request(f"Expected {name!r} to be one of {expected}; got {text[:40]!r}.")
        return text
