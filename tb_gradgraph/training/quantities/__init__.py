"""Numbers of a step as a whole: norms, clipping, and the settings of its optimizers."""
