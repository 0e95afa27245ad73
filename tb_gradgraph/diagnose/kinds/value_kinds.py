"""Kinds of findings: values of the forward."""

from tb_gradgraph.diagnose.kinds.kind import Kind

VALUE_KINDS = (
    Kind(
        "dead_units",
        "warning",
        "Many units of an activation are zero for every sample, at step after step.",
        "Lower the learning rate, or use another activation or initialization.",
        when=(
            "Half of the units zero for the whole batch at 60 % of the steps; of fewer than 16 "
            "units all."
        ),
        silent="units that get nothing but zeros, whose cause lies before them, and fewer than 16 samples",
        is_of_node=True,
    ),
    Kind(
        "saturated",
        "warning",
        "Most elements of a sigmoid, tanh or softmax are at the ends of its range.",
        "Scale its input down: a smaller initialization, a normalization, a lower learning rate.",
        when="Half of the elements near the ends of a sigmoid or tanh, at 60 % of the steps.",
        silent="hardtanh, of which ReLU6 is one",
        is_of_node=True,
    ),
    Kind(
        "attention_collapsed",
        "warning",
        "Attention looks at one position only, at step after step.",
        "Scale scores by the root of their width, or normalize queries and keys.",
        when="An entropy below 2 % of its maximum at 60 % of the steps.",
        silent="a softmax of two dimensions, such as that of classes",
        is_of_node=True,
    ),
    Kind(
        "unused_rows",
        "note",
        "Rows of an embedding never got a gradient.",
        "Compare the vocabulary with the tokens of the data: it may be too large, or the tokens wrong.",
        when=(
            "Half of 32 rows or more lie beyond the greatest number that was looked up in 10 steps."
        ),
        silent="nothing, as it is a note",
        is_of_node=True,
    ),
)
