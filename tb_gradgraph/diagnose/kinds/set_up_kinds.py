"""Kinds of findings: what was wrong before the training began."""

from tb_gradgraph.diagnose.kinds.kind import Kind

SET_UP_KINDS = (
    Kind(
        "unregistered",
        "warning",
        "A tensor that learns belongs to no module of the model, and no optimizer has it.",
        "Keep layers in an nn.ModuleList instead of a Python list.",
        when=(
            "A list, tuple or dict in an attribute of a module holds modules or parameters that "
            "learn, which neither the model nor an optimizer has; or an attribute is such a tensor."
        ),
        silent=(
            "an nn.ModuleList, layers that the model has under another name, a frozen teacher in a "
            "list, an input that the forward keeps, and what a wrapper such as DeepSpeed's keeps"
        ),
    ),
    Kind(
        "stale_optimizer",
        "error",
        "An optimizer holds parameters that the model does not have, and lacks those that it has.",
        "Make the optimizer after the model was changed, moved or wrapped.",
        when=(
            "The optimizer has parameters that the model lacks, and parameters of the model are "
            "in no optimizer."
        ),
        silent="16-bit models, whose optimizer may hold copies in float32",
    ),
    Kind(
        "never_stepped",
        "error",
        "Gradients arrive at every step, but no optimizer steps.",
        "Call optimizer.step() after the backward.",
        when="Eight backward passes or more in one step. A step ends with its optimizer's.",
        silent="an optimizer that steps at least once in eight passes",
    ),
    Kind(
        "optimized_twice",
        "warning",
        "A parameter is in two optimizers, or twice in one.",
        "Give each parameter to one optimizer, once.",
        when="The same tensor twice among the groups of the optimizers.",
        silent="tied weights, which are one tensor",
    ),
    Kind(
        "equal_weights",
        "warning",
        "Two weights began equal, and both are trained.",
        "Initialize them separately. Keep a teacher or target out of the optimizer.",
        when=(
            "Equal elements, not all alike, when the watch begins; both trained; neither is used "
            "after the other."
        ),
        silent=(
            "layers that follow each other, whose gradients differ; a teacher that no optimizer has"
        ),
        is_of_node=True,
    ),
    Kind(
        "input_scale",
        "warning",
        "What the model is given is far from zero mean and unit variance, or does not vary.",
        "Normalize the inputs, and look at what the loader returns.",
        when=(
            "A mean above 1 and ten times the deviation, a deviation above 30, or below a "
            "thousandth of the mean, at 60 % of the steps. A usual initialization expects 0 and "
            "1."
        ),
        silent=(
            "inputs that a matrix product or a convolution does not get directly, and whole numbers"
        ),
        is_of_node=True,
    ),
    Kind(
        "softmax_twice",
        "warning",
        "A softmax is computed of what a softmax or sigmoid gave already.",
        "Give the loss the logits: cross_entropy computes its own log_softmax.",
        when=(
            "The input of a softmax, log_softmax or binary_cross_entropy_with_logits comes from a "
            "softmax or sigmoid, through views at most."
        ),
        silent="a log_softmax of a log_softmax, which changes nothing",
        is_of_node=True,
    ),
    Kind(
        "batch_norm",
        "warning",
        "A batch normalization in training sees one or two samples, or is in evaluation mode.",
        "Use larger batches or a group normalization; call model.train() before training.",
        when=(
            "Two numbers or fewer for each channel, or evaluation mode when the first step is "
            "recorded."
        ),
        silent="a batch norm whose weights are frozen",
        is_of_node=True,
    ),
    Kind(
        "clip_before_backward",
        "warning",
        "Gradients were clipped when there were none, before the backward.",
        "Clip between the backward and the optimizer's step.",
        when=(
            "The line that clips comes before the line of the backward, and nothing is clipped "
            "afterwards."
        ),
        silent="a loop that also clips after the backward",
    ),
    Kind(
        "nothing_selected",
        "warning",
        "A backward ran, but none of its gradients was recorded.",
        "Change select=, exclude= or level= of watch().",
        when="A backward ran and no row of it was recorded.",
        silent="any row",
    ),
    Kind(
        "no_backward",
        "note",
        "No backward pass ran over the graph yet.",
        "Run a backward if you want gradients; the structure alone is complete without one.",
        when="The record has a structure and no number. A warning if a watch ends without a recorded step.",
        silent="any number",
    ),
    Kind(
        "not_read",
        "warning",
        "Some gradients could not be read.",
        "The finding states the reason.",
        when="A gradient was there and could not be read; the reason is recorded.",
        silent="code compiled by torch.compile, which is a note",
        milder="note",
    ),
)
