"""Turns torch's autograd graph into ours, and reads its gradients."""

from tb_gradgraph.autograd.as_if_not_run import undisturbed
from tb_gradgraph.autograd.backward_calls import (
    BackwardCall,
    is_batched,
    is_part_of_forward,
    listen,
)
from tb_gradgraph.autograd.build.build import BuiltGraph
from tb_gradgraph.autograd.build.training_graph import build_training_graph
from tb_gradgraph.autograd.capture import capture_model, capture_tensors
from tb_gradgraph.autograd.forward.forward import KnownTensor
from tb_gradgraph.autograd.forward.known import known_tensors, names_of_modules
from tb_gradgraph.autograd.forward.named_tensors import name_roots
from tb_gradgraph.autograd.gradients.hooks import Attached, detach
from tb_gradgraph.autograd.gradients.loss_sum import Branch, Term, find_meeting, split_sum
from tb_gradgraph.autograd.gradients.observe import BackwardObserver
from tb_gradgraph.autograd.gradients.replay import Replay, Shared, fingerprint, reach
from tb_gradgraph.autograd.gradients.rows import SlotRows
from tb_gradgraph.autograd.gradients.threads import Passage, gate
from tb_gradgraph.autograd.seen.saved_inputs import saved_places, saved_tensor
from tb_gradgraph.autograd.seen.training_forward import TrainingForward
from tb_gradgraph.autograd.select import (
    LEVELS,
    Selector,
    check_selector,
    matching_rows,
    selected_rows,
    warn_of_nothing,
)
from tb_gradgraph.autograd.torch_internals.circumstances import captured_so_far, is_capturing
from tb_gradgraph.autograd.torch_internals.compiled_regions import (
    is_backward_compiled,
    left_out_of_compiled,
)
from tb_gradgraph.autograd.torch_internals.engine import (
    HAS_NUMBERS,
    TELLS_PACKED,
    functions_not_overridden,
    input_metadata,
    modes_paused,
    next_sequence_nr,
    saved_tensors,
    sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.faults import (
    name_of_row,
    warn_of_fault,
    warn_of_unread,
    warn_quietly,
)
from tb_gradgraph.autograd.torch_internals.private import (
    check_parts,
    may_follow_forwards,
    missing_parts,
    names_of,
)
from tb_gradgraph.autograd.torch_internals.replaced import Replaced
from tb_gradgraph.autograd.torch_internals.tensor_classes import (
    attribute_of,
    class_name_of,
    elements_of,
    inner_optimizer,
    is_distributed,
    is_fully_sharded,
    is_module_wrapper,
    is_replicated,
    local_part,
    mesh_of,
    owned_tensors,
    placement_in,
    placement_of,
    small_copy,
    stand_ins,
    unwrapped,
    walk_modules,
)
from tb_gradgraph.autograd.torch_internals.tensor_hooks import listen_for_hooks
from tb_gradgraph.autograd.user_code.stack_frames import (
    local_variables,
    shown_path,
    source_line,
    user_frame,
    variables_of,
)
from tb_gradgraph.autograd.values.call_results import CallResults
from tb_gradgraph.autograd.values.made_tensors import GivenTensors, MadeTensors
from tb_gradgraph.autograd.values.meanings import meaning_of_call
from tb_gradgraph.autograd.values.module_outputs import ModuleOutputs

__all__ = [
    "Attached",
    "BackwardCall",
    "BackwardObserver",
    "Branch",
    "BuiltGraph",
    "CallResults",
    "GivenTensors",
    "HAS_NUMBERS",
    "KnownTensor",
    "LEVELS",
    "MadeTensors",
    "ModuleOutputs",
    "Passage",
    "Replaced",
    "Replay",
    "Selector",
    "Shared",
    "SlotRows",
    "TELLS_PACKED",
    "Term",
    "TrainingForward",
    "attribute_of",
    "build_training_graph",
    "capture_model",
    "capture_tensors",
    "captured_so_far",
    "check_parts",
    "check_selector",
    "class_name_of",
    "detach",
    "elements_of",
    "find_meeting",
    "fingerprint",
    "functions_not_overridden",
    "input_metadata",
    "gate",
    "inner_optimizer",
    "is_backward_compiled",
    "left_out_of_compiled",
    "is_batched",
    "is_capturing",
    "is_distributed",
    "is_fully_sharded",
    "is_module_wrapper",
    "is_part_of_forward",
    "is_replicated",
    "known_tensors",
    "listen",
    "listen_for_hooks",
    "local_part",
    "local_variables",
    "matching_rows",
    "may_follow_forwards",
    "meaning_of_call",
    "mesh_of",
    "missing_parts",
    "modes_paused",
    "name_of_row",
    "name_roots",
    "names_of",
    "names_of_modules",
    "next_sequence_nr",
    "owned_tensors",
    "placement_in",
    "placement_of",
    "reach",
    "saved_tensors",
    "selected_rows",
    "saved_places",
    "saved_tensor",
    "sequence_nr",
    "small_copy",
    "shown_path",
    "source_line",
    "split_sum",
    "stand_ins",
    "undisturbed",
    "unwrapped",
    "user_frame",
    "variables_of",
    "walk_modules",
    "warn_of_fault",
    "warn_of_nothing",
    "warn_of_unread",
    "warn_quietly",
]
