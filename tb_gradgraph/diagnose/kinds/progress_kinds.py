"""Kinds of findings: how the loss and the size of the gradient go on."""

from tb_gradgraph.diagnose.kinds.kind import Kind

PROGRESS_KINDS = (
    Kind(
        "gradient_spike",
        "warning",
        "The gradient of a step was many times as large as those of the steps before.",
        "Look at the batch of that step; clip gradients.",
        when="Ten times the median of the 30 steps before, and three times their greatest.",
        silent="a gradient below half of that of the first steps; the first five steps",
    ),
    Kind(
        "loss_imbalance",
        "warning",
        "One term of the loss has nearly all of the gradient, and another nearly none.",
        "Weight the terms so that each is heard.",
        when="Medians over the steps: one term has 99 % of the gradient, another less than 0.2 %.",
        silent="a term without any gradient, and losses that are no sum",
    ),
    Kind(
        "loss_conflict",
        "note",
        "Two terms of the loss pull in opposite directions.",
        "Weight the terms otherwise, or train them in turn, unless they are meant to be adversaries.",
        when="The median of the cosine is below -0.5.",
        silent="nothing, as it is a note",
    ),
    Kind(
        "loss_rising",
        "warning",
        "The loss rises.",
        "Lower the learning rate, and check the sign of the loss.",
        when=(
            "The last quarter is above the best quarter by 30 % and by three times the scatter, "
            "and above the first."
        ),
        silent="several objectives, losses below zero, fewer than 12 steps",
    ),
    Kind(
        "loss_oscillating",
        "warning",
        "The loss swings up and down from step to step without falling.",
        "Lower the learning rate, or the momentum.",
        when=(
            "It turns at 80 % of the steps (chance: two thirds), by a fifth of its size, and does "
            "not fall."
        ),
        silent="several objectives, fewer than 12 steps",
    ),
)
