"""Kinds of findings: NaN and infinity."""

from tb_gradgraph.diagnose.kinds.kind import Kind

NONFINITE_KINDS = (
    Kind(
        "nonfinite_weight",
        "error",
        "A weight already held NaN or infinity when the forward began.",
        (
            "Look at the gradients and the update of the step before, and go back to a checkpoint "
            "before it."
        ),
        when=(
            "Any NaN or infinity among a weight's elements, or an update that is not finite "
            "although the gradient is."
        ),
        silent="finite weights",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite_value",
        "error",
        "The forward already gave NaN or infinity: its inputs were finite and its result is not.",
        (
            "Keep the operation's input in the range where its result is finite; if an input of "
            "the model is not finite, clean the data."
        ),
        when=(
            "Any NaN or infinity in what an operation gives, none in what it gets. It is a note if "
            "loss and gradients are finite, or only a GradScaler's factor made it."
        ),
        silent=(
            "a mask of minus infinity whose result is finite; a loss that only a GradScaler's "
            "factor overflows"
        ),
        milder="note",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite_origin",
        "error",
        "A finite gradient came into an operation, and NaN or infinity left it.",
        (
            "Keep the operation's input away from where its derivative is infinite, such as 0 for a "
            "square root: add a small constant, or clamp it."
        ),
        when=(
            "Any NaN or infinity in a gradient that leaves an operation, none in what arrives. It "
            "is a note if a GradScaler's factor made it."
        ),
        silent="a step that a GradScaler skipped",
        milder="note",
        is_of_nonfinite=True,
    ),
    Kind(
        "nan_victim",
        "error",
        "An operation turned an infinity that reached it into NaN.",
        "Find where the infinity comes from; this operation is not to blame.",
        when="NaN leaves an operation at which only infinity arrived.",
        silent="a step that a GradScaler skipped",
        milder="note",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite",
        "error",
        "Gradients contain NaN or infinity.",
        "Look at the finding that names the place where it began.",
        when="Any NaN or infinity in a gradient.",
        silent="a step that a GradScaler skipped",
        milder="note",
        is_of_nonfinite=True,
    ),
)
