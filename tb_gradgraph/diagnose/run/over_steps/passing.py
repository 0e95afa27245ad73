"""Operations that keep the elements of a tensor, in another shape, order or type."""

#: By ``plain_name``, of autograd's nodes and of operations that need no gradient.
PASSING = frozenset(
    (
        *("view", "reshape", "reshapealias", "unsafeview", "flatten", "unflatten", "squeeze"),
        *("unsqueeze", "transpose", "t", "permute", "movedim", "expand", "alias", "clone", "copy"),
        *("tocopy", "to", "contiguous", "detach", "select", "slice", "narrow", "unbind", "unfold"),
    )
)
