"""Private names of torch are used in few places, each for its reason."""

from __future__ import annotations

import ast
import pathlib

from tb_gradgraph.autograd.torch_internals import engine

ROOM = pathlib.Path(engine.__file__).parents[1]

#: Private names of torch's that other files of the room use, each for its reason.
JUSTIFIED = {
    "_version", "_is_view",  # of a tensor; named in torch's documentation of in-place and views
    "_parameters", "_buffers", "_modules",  # of a module; documented for its subclasses
    "_forward_hooks", "_backward_hooks", "_post_accumulate_grad_hooks",  # tables of hooks
    "_is_checkpoint_valid", "_fields",  # a name looked for in code, never called; of a named tuple
}  # fmt: skip


def test_private_names_are_used_in_engine_alone() -> None:
    found: dict[str, set[str]] = {}
    for path in ROOM.rglob("*.py"):
        if path.name == "engine.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                of_ours = ast.unparse(node.value) in ("self", "cls", "super()")
                if not of_ours and not node.attr.startswith("__") and node.attr not in JUSTIFIED:
                    found.setdefault(path.name, set()).add(node.attr)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Replaced":
                name = ast.literal_eval(node.args[1])  # of a function of torch that is replaced
                if name.startswith("_") and not name.startswith("__"):
                    found.setdefault(path.name, set()).add(name)
            if isinstance(node, ast.ImportFrom) and "._" in (node.module or ""):
                found.setdefault(path.name, set()).add(node.module)
    assert found == {
        **dict.fromkeys(
            ("forward_notes.py", "monitoring_events.py", "stack_frames.py", "user_events.py"),
            {"_getframe"},
        ),
        "schemas.py": {"_schema"},  # of an operator: what it gives, how its arguments are called
        "packing.py": {"_C"},  # what packs now. And torch documents modes there:
        "trace.py": {"_get_current_dispatch_mode", "_get_current_dispatch_mode_stack", "_getframe"},
        "trees.py": {"torch.utils._pytree"},  # tree_map has no public place
        # There is nothing public.
        "compiled_regions.py": {
            *("_maybe_set_eval_frame", "_getframe", "_callback_from_stance"),
            "_torchdynamo_inline",  # what marks a function that compiled code leaves out
        },
        "backward_calls.py": {"_engine_run_backward"},  # replaced there, and put back
        # Whether a transform of torch.func runs: torch tells it nowhere else.
        "replay.py": {"_input_metadata"},
        "functions.py": {"_getframe"},
        # What fully_shard puts in the place of parameters; without them those have no gradients.
        "tensor_classes.py": {"_get_fsdp_state", "_fsdp_param_group", "_module_info"},
    }
