"""The errors that we raise. Each names the call, what was expected, what was given, and the cure."""


class GradGraphError(Exception):
    """Base of every error that tb_gradgraph raises on purpose."""


class CaptureError(GradGraphError):
    """The model or the tensors cannot be differentiated in the way asked for."""


class WriterError(GradGraphError):
    """The writer cannot take records, because it is closed or of an unknown kind."""


class FindingError(GradGraphError):
    """A training is broken, and ``watch(on_finding="raise")`` ends it.

    Attributes:
        finding: What was found.
    """

    def __init__(self, text: str, finding: object = None) -> None:
        super().__init__(text)
        self.finding = finding


class FormatError(GradGraphError):
    """The bytes do not follow FORMAT.md."""


class NewerFormatError(FormatError):
    """The bytes were written by a newer tb_gradgraph."""


#: The beginning of the text on a node that could not be read.
NOT_READ = "not read: "

#: The reason why gradients inside a compiled backward are not read: it must have no hooks of ours.
COMPILED = NOT_READ + "the backward was compiled"


def reason_of(error: BaseException) -> str:
    """Return a short text on an error because of which something was not read."""
    try:
        told = " ".join(str(error).split())
    except Exception:  # an error whose message cannot be formatted
        told = ""
    kind = type(error).__name__
    return f"{NOT_READ}{kind}: {told[:200]}" if told else NOT_READ + kind
