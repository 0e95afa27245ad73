"""Errors raised at the call that caused them, saying where, expected, got and cure."""


class GradGraphError(Exception):
    """Base of every error that tb_gradgraph raises on purpose."""


class CaptureError(GradGraphError):
    """The model or tensors given cannot be differentiated as asked."""


class WriterError(GradGraphError):
    """The writer given cannot take records: closed, or of an unknown kind."""


class FormatError(GradGraphError):
    """The bytes read are not what FORMAT.md says."""


class NewerFormatError(FormatError):
    """A newer tb_gradgraph than this one wrote the bytes."""


#: Begins the sentence of every node that could not be read although it was to be.
NOT_READ = "not read: "

#: Said of what flows within a compiled backward, where nothing of ours may be.
COMPILED = NOT_READ + "the backward was compiled"


def reason_of(error: BaseException) -> str:
    """Say in short why something was not read, whatever its message is."""
    try:
        told = " ".join(str(error).split())
    except Exception:  # an error whose message cannot be spelt
        told = ""
    kind = type(error).__name__
    return f"{NOT_READ}{kind}: {told[:200]}" if told else NOT_READ + kind
