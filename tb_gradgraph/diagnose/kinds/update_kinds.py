"""Kinds of findings: what an optimizer does."""

from tb_gradgraph.diagnose.kinds.kind import Kind

UPDATE_KINDS = (
    Kind(
        "not_zeroed",
        "warning",
        "Gradients of earlier steps add up, because nothing clears them.",
        "Call optimizer.zero_grad() once a step.",
        when=".grad differs by 1 % from what the step's only backward gave, at 60 % of the steps.",
        silent="several backward passes in a step, and parameters that no optimizer has",
    ),
    Kind(
        "scale_collapse",
        "error",
        "A GradScaler skips step after step, and its scale falls and falls.",
        "Find what overflows: the skipped steps name the first infinite gradient.",
        when="Five skipped steps one after another, and 30 % of all.",
        silent="a skip now and then, which is how a GradScaler finds its scale",
    ),
    Kind(
        "lost_update",
        "warning",
        "Updates of a weight are lost in rounding, because it has too few digits for them.",
        "Keep a float32 copy of the weight for the optimizer, or use stochastic rounding.",
        when=(
            "A 16-bit weight with a gradient does not change at 60 % of the steps, although the "
            "learning rate is above 0."
        ),
        silent="weights of 32 bits",
        is_of_node=True,
    ),
    Kind(
        "cleared",
        "warning",
        "Gradients were cleared between the backward and the optimizer's step.",
        "Call zero_grad() before the backward, or after the step.",
        when=(
            "A backward gave gradients, and none or only zeros are left when the optimizer steps, "
            "at 30 % of the steps."
        ),
        silent="a single step",
        lasts=0.3,
    ),
    Kind(
        "clipped",
        "warning",
        "Gradients became much smaller between the backward and the optimizer's step.",
        "If every step is clipped, raise the limit or lower the learning rate.",
        when="A factor of 100 (10: a note) between backward and step, at 60 % of the steps.",
        silent="clipping by less, which is usual",
        lasts=0.6,
        milder="note",
    ),
    Kind(
        "not_optimized",
        "warning",
        "A parameter got a gradient, but no optimizer of the watch holds it.",
        "Give it to an optimizer, or set requires_grad to False.",
        when="A gradient and no update, at 60 % of the steps, in a watch that knows an optimizer.",
        silent="weights whose copies an optimizer steps",
        lasts=0.6,
        is_of_node=True,
    ),
    Kind(
        "large_update",
        "warning",
        "A step changed a weight by a large part of its norm, and so undid what it had learned.",
        "Lower the learning rate, warm it up, or clip gradients.",
        when=(
            "More than a tenth of a normally sized weight at 30 % of the steps, or more than half "
            "of most weights in one step of a training whose steps were 50 times smaller. 0.001 "
            "is usual. In the first ten steps it may be a note."
        ),
        silent="weights that began near zero; LBFGS",
        lasts=0.3,
        milder="note",
    ),
    Kind(
        "small_update",
        "note",
        "Updates are too small for a weight to learn anything.",
        "Raise the learning rate, unless it is warming up; see whether the gradients are small, too.",
        when=(
            "Less than a millionth of every weight, at 30 % of the steps and at the last; less "
            "than 1e-5 at a single step is a note."
        ),
        silent="warm-up",
        lasts=0.9,
    ),
    Kind(
        "no_update",
        "note",
        "No weight changed in a step.",
        "Set a learning rate above 0, and look at what the scheduler does with it.",
        when=(
            "No weight changes although gradients arrive, at 30 % of the steps and at the last; a "
            "single step is a note."
        ),
        silent="warm-up",
        lasts=0.5,
    ),
    Kind(
        "step_skipped",
        "note",
        "A GradScaler skipped the optimizer's step.",
        "Go on if it is rare: the scaler lowers its scale. If not, find what overflows.",
        when="The scaler did not step, or its optimizer found an infinity.",
        silent="nothing, as it is a note",
    ),
    Kind(
        "weight_drift",
        "warning",
        "Weights shrink or grow steadily, whatever the gradients are.",
        "Lower the weight decay. If they grow, lower the learning rate.",
        when=(
            "Half or ten times the norm at the end, in the same direction at 90 % of the steps; "
            "or decay takes 1 % of a weight at each step (1e-4 is usual)."
        ),
        silent="LBFGS",
    ),
)
