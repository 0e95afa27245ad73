"""Kinds of findings: gradients that do not arrive, vanish or explode."""

from tb_gradgraph.diagnose.kinds.kind import Kind

FLOW_KINDS = (
    Kind(
        "no_gradient",
        "warning",
        "No gradient arrived at a parameter that requires one.",
        "Use it in the forward, or set requires_grad to False.",
        when="No gradient at 90 % of the examined steps; below that a note.",
        silent="stochastic depth, idle experts, heads that are used now and then",
        lasts=0.9,
        is_of_node=True,
    ),
    Kind(
        "frozen",
        "note",
        "Some parameters do not require a gradient.",
        "Set requires_grad to True for those that should learn; leave the others as they are.",
        when="requires_grad is False.",
        silent="nothing, as it is a note",
        lasts=0.5,
    ),
    Kind(
        "zero_gradient",
        "warning",
        "Gradients arrived, but every element of them is zero.",
        "Find what multiplies them by zero, such as a mask, a factor or a weight.",
        when=(
            "Every element is exactly zero at 60 % of the examined steps; below that, or if a "
            "weight that began at zero is the reason, a note."
        ),
        silent="weights that began at zero, which the next step heals",
        lasts=0.6,
        milder="note",
    ),
    Kind(
        "zero_origin",
        "warning",
        "A gradient reaches an operation but only zeros leave it, as with a dead ReLU.",
        "Lower the learning rate, or choose another activation or initialization.",
        when="A gradient arrives and exact zeros leave, at 60 % of the examined steps.",
        silent="single steps",
        lasts=0.6,
    ),
    Kind(
        "vanishing",
        "warning",
        "A gradient is orders of magnitude smaller than those near the loss.",
        "Add a normalization or skip connections, or change the initialization.",
        when=(
            "Four orders of magnitude below the parameters near the loss; or a steady fall by 1.5 "
            "a layer and 100 over all; or 1e8 over the calls of a loop."
        ),
        silent="what a softmax or a normalization takes out; branches with a scale of their own",
        lasts=0.6,
    ),
    Kind(
        "exploding",
        "warning",
        "A gradient is orders of magnitude greater than all near the loss, or beyond 1e6.",
        "Clip gradients, lower the learning rate, or try another initialization.",
        when=(
            "Four orders above the parameters near the loss, a norm above 1e6, a steady rise by "
            "1.5 a layer and 100 over all, or 1e4 over the calls of a loop."
        ),
        silent="branches with a scale of their own",
        lasts=0.3,
    ),
    Kind(
        "cancelled",
        "note",
        (
            "Gradients cancel to rounding, as for a bias before a normalization or a key's before "
            "a softmax."
        ),
        "Leave them as they are: they do not learn, and need not. bias=False saves them.",
        when=(
            "A normalization or a softmax behind it takes out what it adds, by the graph, and its "
            "gradient is rounding."
        ),
        silent="nothing, as it is a note",
        lasts=0.5,
    ),
)
