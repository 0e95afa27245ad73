from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_MANIFEST: _ClassVar[Kind]
    KIND_GRAPH: _ClassVar[Kind]
    KIND_STATISTICS: _ClassVar[Kind]

class ElementType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ELEMENT_UNSPECIFIED: _ClassVar[ElementType]
    FLOAT32: _ClassVar[ElementType]
    FLOAT64: _ClassVar[ElementType]
    UINT16: _ClassVar[ElementType]
    UINT32: _ClassVar[ElementType]
    UINT64: _ClassVar[ElementType]
    COMPLEX64: _ClassVar[ElementType]
    COMPLEX128: _ClassVar[ElementType]
    INT64: _ClassVar[ElementType]
    BOOL: _ClassVar[ElementType]
KIND_UNSPECIFIED: Kind
KIND_MANIFEST: Kind
KIND_GRAPH: Kind
KIND_STATISTICS: Kind
ELEMENT_UNSPECIFIED: ElementType
FLOAT32: ElementType
FLOAT64: ElementType
UINT16: ElementType
UINT32: ElementType
UINT64: ElementType
COMPLEX64: ElementType
COMPLEX128: ElementType
INT64: ElementType
BOOL: ElementType

class Header(_message.Message):
    __slots__ = ("format_version", "kind", "payload_bytes", "payload_crc32", "uncompressed_bytes")
    FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_CRC32_FIELD_NUMBER: _ClassVar[int]
    UNCOMPRESSED_BYTES_FIELD_NUMBER: _ClassVar[int]
    format_version: int
    kind: Kind
    payload_bytes: int
    payload_crc32: int
    uncompressed_bytes: int
    def __init__(self, format_version: _Optional[int] = ..., kind: _Optional[_Union[Kind, str]] = ..., payload_bytes: _Optional[int] = ..., payload_crc32: _Optional[int] = ..., uncompressed_bytes: _Optional[int] = ...) -> None: ...

class Manifest(_message.Message):
    __slots__ = ("session", "writer_version", "torch_version", "start_time", "rank", "world_size", "run_id", "mesh_name", "mesh_size", "mesh_place")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    WRITER_VERSION_FIELD_NUMBER: _ClassVar[int]
    TORCH_VERSION_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    WORLD_SIZE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    MESH_NAME_FIELD_NUMBER: _ClassVar[int]
    MESH_SIZE_FIELD_NUMBER: _ClassVar[int]
    MESH_PLACE_FIELD_NUMBER: _ClassVar[int]
    session: str
    writer_version: str
    torch_version: str
    start_time: float
    rank: int
    world_size: int
    run_id: str
    mesh_name: _containers.RepeatedScalarFieldContainer[str]
    mesh_size: _containers.RepeatedScalarFieldContainer[int]
    mesh_place: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, session: _Optional[str] = ..., writer_version: _Optional[str] = ..., torch_version: _Optional[str] = ..., start_time: _Optional[float] = ..., rank: _Optional[int] = ..., world_size: _Optional[int] = ..., run_id: _Optional[str] = ..., mesh_name: _Optional[_Iterable[str]] = ..., mesh_size: _Optional[_Iterable[int]] = ..., mesh_place: _Optional[_Iterable[int]] = ...) -> None: ...

class GraphRecord(_message.Message):
    __slots__ = ("hash", "strings", "scope_path", "scope_call", "scope_module", "scope_parent", "node_key", "node_name", "node_kind", "node_operation", "node_scope", "node_is_leaf", "node_source", "node_order", "node_note", "node_alias_count", "node_alias", "node_slot_count", "node_reason", "node_inside", "slot_name", "slot_dtype", "slot_rank", "slot_size", "slot_requires_grad", "slot_retains_grad", "slot_placement", "edge_source", "edge_source_slot", "edge_target", "edge_target_input")
    HASH_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_PATH_FIELD_NUMBER: _ClassVar[int]
    SCOPE_CALL_FIELD_NUMBER: _ClassVar[int]
    SCOPE_MODULE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_PARENT_FIELD_NUMBER: _ClassVar[int]
    NODE_KEY_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_KIND_FIELD_NUMBER: _ClassVar[int]
    NODE_OPERATION_FIELD_NUMBER: _ClassVar[int]
    NODE_SCOPE_FIELD_NUMBER: _ClassVar[int]
    NODE_IS_LEAF_FIELD_NUMBER: _ClassVar[int]
    NODE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    NODE_ORDER_FIELD_NUMBER: _ClassVar[int]
    NODE_NOTE_FIELD_NUMBER: _ClassVar[int]
    NODE_ALIAS_COUNT_FIELD_NUMBER: _ClassVar[int]
    NODE_ALIAS_FIELD_NUMBER: _ClassVar[int]
    NODE_SLOT_COUNT_FIELD_NUMBER: _ClassVar[int]
    NODE_REASON_FIELD_NUMBER: _ClassVar[int]
    NODE_INSIDE_FIELD_NUMBER: _ClassVar[int]
    SLOT_NAME_FIELD_NUMBER: _ClassVar[int]
    SLOT_DTYPE_FIELD_NUMBER: _ClassVar[int]
    SLOT_RANK_FIELD_NUMBER: _ClassVar[int]
    SLOT_SIZE_FIELD_NUMBER: _ClassVar[int]
    SLOT_REQUIRES_GRAD_FIELD_NUMBER: _ClassVar[int]
    SLOT_RETAINS_GRAD_FIELD_NUMBER: _ClassVar[int]
    SLOT_PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    EDGE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    EDGE_SOURCE_SLOT_FIELD_NUMBER: _ClassVar[int]
    EDGE_TARGET_FIELD_NUMBER: _ClassVar[int]
    EDGE_TARGET_INPUT_FIELD_NUMBER: _ClassVar[int]
    hash: str
    strings: _containers.RepeatedScalarFieldContainer[str]
    scope_path: _containers.RepeatedScalarFieldContainer[int]
    scope_call: _containers.RepeatedScalarFieldContainer[int]
    scope_module: _containers.RepeatedScalarFieldContainer[int]
    scope_parent: _containers.RepeatedScalarFieldContainer[int]
    node_key: _containers.RepeatedScalarFieldContainer[int]
    node_name: _containers.RepeatedScalarFieldContainer[int]
    node_kind: _containers.RepeatedScalarFieldContainer[int]
    node_operation: _containers.RepeatedScalarFieldContainer[int]
    node_scope: _containers.RepeatedScalarFieldContainer[int]
    node_is_leaf: _containers.RepeatedScalarFieldContainer[bool]
    node_source: _containers.RepeatedScalarFieldContainer[int]
    node_order: _containers.RepeatedScalarFieldContainer[int]
    node_note: _containers.RepeatedScalarFieldContainer[int]
    node_alias_count: _containers.RepeatedScalarFieldContainer[int]
    node_alias: _containers.RepeatedScalarFieldContainer[int]
    node_slot_count: _containers.RepeatedScalarFieldContainer[int]
    node_reason: _containers.RepeatedScalarFieldContainer[int]
    node_inside: _containers.RepeatedScalarFieldContainer[int]
    slot_name: _containers.RepeatedScalarFieldContainer[int]
    slot_dtype: _containers.RepeatedScalarFieldContainer[int]
    slot_rank: _containers.RepeatedScalarFieldContainer[int]
    slot_size: _containers.RepeatedScalarFieldContainer[int]
    slot_requires_grad: _containers.RepeatedScalarFieldContainer[bool]
    slot_retains_grad: _containers.RepeatedScalarFieldContainer[bool]
    slot_placement: _containers.RepeatedScalarFieldContainer[int]
    edge_source: _containers.RepeatedScalarFieldContainer[int]
    edge_source_slot: _containers.RepeatedScalarFieldContainer[int]
    edge_target: _containers.RepeatedScalarFieldContainer[int]
    edge_target_input: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, hash: _Optional[str] = ..., strings: _Optional[_Iterable[str]] = ..., scope_path: _Optional[_Iterable[int]] = ..., scope_call: _Optional[_Iterable[int]] = ..., scope_module: _Optional[_Iterable[int]] = ..., scope_parent: _Optional[_Iterable[int]] = ..., node_key: _Optional[_Iterable[int]] = ..., node_name: _Optional[_Iterable[int]] = ..., node_kind: _Optional[_Iterable[int]] = ..., node_operation: _Optional[_Iterable[int]] = ..., node_scope: _Optional[_Iterable[int]] = ..., node_is_leaf: _Optional[_Iterable[bool]] = ..., node_source: _Optional[_Iterable[int]] = ..., node_order: _Optional[_Iterable[int]] = ..., node_note: _Optional[_Iterable[int]] = ..., node_alias_count: _Optional[_Iterable[int]] = ..., node_alias: _Optional[_Iterable[int]] = ..., node_slot_count: _Optional[_Iterable[int]] = ..., node_reason: _Optional[_Iterable[int]] = ..., node_inside: _Optional[_Iterable[int]] = ..., slot_name: _Optional[_Iterable[int]] = ..., slot_dtype: _Optional[_Iterable[int]] = ..., slot_rank: _Optional[_Iterable[int]] = ..., slot_size: _Optional[_Iterable[int]] = ..., slot_requires_grad: _Optional[_Iterable[bool]] = ..., slot_retains_grad: _Optional[_Iterable[bool]] = ..., slot_placement: _Optional[_Iterable[int]] = ..., edge_source: _Optional[_Iterable[int]] = ..., edge_source_slot: _Optional[_Iterable[int]] = ..., edge_target: _Optional[_Iterable[int]] = ..., edge_target_input: _Optional[_Iterable[int]] = ...) -> None: ...

class StatisticsChunk(_message.Message):
    __slots__ = ("segments", "stride", "lost_records", "lost_first_step", "lost_last_step", "lost_why", "ended", "forward_segments", "facts")
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    LOST_RECORDS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LOST_LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    LOST_WHY_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    FORWARD_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    segments: _containers.RepeatedCompositeFieldContainer[Segment]
    stride: int
    lost_records: int
    lost_first_step: int
    lost_last_step: int
    lost_why: str
    ended: str
    forward_segments: _containers.RepeatedCompositeFieldContainer[Segment]
    facts: _containers.RepeatedCompositeFieldContainer[TrainingFacts]
    def __init__(self, segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., stride: _Optional[int] = ..., lost_records: _Optional[int] = ..., lost_first_step: _Optional[int] = ..., lost_last_step: _Optional[int] = ..., lost_why: _Optional[str] = ..., ended: _Optional[str] = ..., forward_segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., facts: _Optional[_Iterable[_Union[TrainingFacts, _Mapping]]] = ...) -> None: ...

class TrainingFacts(_message.Message):
    __slots__ = ("tag", "step", "parameters", "elements", "frozen", "is_training", "has_scaler", "is_opaque", "dtype", "dtype_count", "optimizers", "unoptimized", "held_twice", "equal", "evaluating", "outer_evaluating", "unregistered", "early_clips", "why_nothing")
    TAG_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    IS_TRAINING_FIELD_NUMBER: _ClassVar[int]
    HAS_SCALER_FIELD_NUMBER: _ClassVar[int]
    IS_OPAQUE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_COUNT_FIELD_NUMBER: _ClassVar[int]
    OPTIMIZERS_FIELD_NUMBER: _ClassVar[int]
    UNOPTIMIZED_FIELD_NUMBER: _ClassVar[int]
    HELD_TWICE_FIELD_NUMBER: _ClassVar[int]
    EQUAL_FIELD_NUMBER: _ClassVar[int]
    EVALUATING_FIELD_NUMBER: _ClassVar[int]
    OUTER_EVALUATING_FIELD_NUMBER: _ClassVar[int]
    UNREGISTERED_FIELD_NUMBER: _ClassVar[int]
    EARLY_CLIPS_FIELD_NUMBER: _ClassVar[int]
    WHY_NOTHING_FIELD_NUMBER: _ClassVar[int]
    tag: str
    step: int
    parameters: int
    elements: int
    frozen: int
    is_training: bool
    has_scaler: bool
    is_opaque: bool
    dtype: _containers.RepeatedScalarFieldContainer[str]
    dtype_count: _containers.RepeatedScalarFieldContainer[int]
    optimizers: _containers.RepeatedCompositeFieldContainer[OptimizerFacts]
    unoptimized: Names
    held_twice: Names
    equal: _containers.RepeatedCompositeFieldContainer[Names]
    evaluating: Names
    outer_evaluating: Names
    unregistered: Names
    early_clips: Names
    why_nothing: str
    def __init__(self, tag: _Optional[str] = ..., step: _Optional[int] = ..., parameters: _Optional[int] = ..., elements: _Optional[int] = ..., frozen: _Optional[int] = ..., is_training: bool = ..., has_scaler: bool = ..., is_opaque: bool = ..., dtype: _Optional[_Iterable[str]] = ..., dtype_count: _Optional[_Iterable[int]] = ..., optimizers: _Optional[_Iterable[_Union[OptimizerFacts, _Mapping]]] = ..., unoptimized: _Optional[_Union[Names, _Mapping]] = ..., held_twice: _Optional[_Union[Names, _Mapping]] = ..., equal: _Optional[_Iterable[_Union[Names, _Mapping]]] = ..., evaluating: _Optional[_Union[Names, _Mapping]] = ..., outer_evaluating: _Optional[_Union[Names, _Mapping]] = ..., unregistered: _Optional[_Union[Names, _Mapping]] = ..., early_clips: _Optional[_Union[Names, _Mapping]] = ..., why_nothing: _Optional[str] = ...) -> None: ...

class OptimizerFacts(_message.Message):
    __slots__ = ("name", "groups", "strangers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    STRANGERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    groups: _containers.RepeatedCompositeFieldContainer[GroupFacts]
    strangers: int
    def __init__(self, name: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[GroupFacts, _Mapping]]] = ..., strangers: _Optional[int] = ...) -> None: ...

class GroupFacts(_message.Message):
    __slots__ = ("setting", "value", "parameters", "names")
    SETTING_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    setting: _containers.RepeatedScalarFieldContainer[str]
    value: _containers.RepeatedScalarFieldContainer[float]
    parameters: int
    names: Names
    def __init__(self, setting: _Optional[_Iterable[str]] = ..., value: _Optional[_Iterable[float]] = ..., parameters: _Optional[int] = ..., names: _Optional[_Union[Names, _Mapping]] = ...) -> None: ...

class Names(_message.Message):
    __slots__ = ("first", "count")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    first: _containers.RepeatedScalarFieldContainer[str]
    count: int
    def __init__(self, first: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("tag", "graph_hash", "rows", "strings", "step", "wall_time", "backward_pass", "objective", "stage", "present_rows", "loss_scale", "skipped", "every_n_steps", "cost", "present", "columns", "whole", "only_present", "unread_record", "unread_row", "unread_reason", "quantity_record", "quantity_name", "quantity_value", "missing_record", "missing_name", "missing_reason", "own_name", "own_of", "own_unit", "own_worse", "own_why", "own_record", "own_row", "own_statistic", "own_value")
    TAG_FIELD_NUMBER: _ClassVar[int]
    GRAPH_HASH_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    BACKWARD_PASS_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    PRESENT_ROWS_FIELD_NUMBER: _ClassVar[int]
    LOSS_SCALE_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    EVERY_N_STEPS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    ONLY_PRESENT_FIELD_NUMBER: _ClassVar[int]
    UNREAD_RECORD_FIELD_NUMBER: _ClassVar[int]
    UNREAD_ROW_FIELD_NUMBER: _ClassVar[int]
    UNREAD_REASON_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_RECORD_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_NAME_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_VALUE_FIELD_NUMBER: _ClassVar[int]
    MISSING_RECORD_FIELD_NUMBER: _ClassVar[int]
    MISSING_NAME_FIELD_NUMBER: _ClassVar[int]
    MISSING_REASON_FIELD_NUMBER: _ClassVar[int]
    OWN_NAME_FIELD_NUMBER: _ClassVar[int]
    OWN_OF_FIELD_NUMBER: _ClassVar[int]
    OWN_UNIT_FIELD_NUMBER: _ClassVar[int]
    OWN_WORSE_FIELD_NUMBER: _ClassVar[int]
    OWN_WHY_FIELD_NUMBER: _ClassVar[int]
    OWN_RECORD_FIELD_NUMBER: _ClassVar[int]
    OWN_ROW_FIELD_NUMBER: _ClassVar[int]
    OWN_STATISTIC_FIELD_NUMBER: _ClassVar[int]
    OWN_VALUE_FIELD_NUMBER: _ClassVar[int]
    tag: str
    graph_hash: str
    rows: int
    strings: _containers.RepeatedScalarFieldContainer[str]
    step: _containers.RepeatedScalarFieldContainer[int]
    wall_time: _containers.RepeatedScalarFieldContainer[float]
    backward_pass: _containers.RepeatedScalarFieldContainer[int]
    objective: _containers.RepeatedScalarFieldContainer[int]
    stage: _containers.RepeatedScalarFieldContainer[int]
    present_rows: _containers.RepeatedScalarFieldContainer[int]
    loss_scale: _containers.RepeatedScalarFieldContainer[float]
    skipped: _containers.RepeatedScalarFieldContainer[bool]
    every_n_steps: _containers.RepeatedScalarFieldContainer[int]
    cost: _containers.RepeatedScalarFieldContainer[float]
    present: bytes
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    whole: Whole
    only_present: bool
    unread_record: _containers.RepeatedScalarFieldContainer[int]
    unread_row: _containers.RepeatedScalarFieldContainer[int]
    unread_reason: _containers.RepeatedScalarFieldContainer[int]
    quantity_record: _containers.RepeatedScalarFieldContainer[int]
    quantity_name: _containers.RepeatedScalarFieldContainer[int]
    quantity_value: _containers.RepeatedScalarFieldContainer[float]
    missing_record: _containers.RepeatedScalarFieldContainer[int]
    missing_name: _containers.RepeatedScalarFieldContainer[int]
    missing_reason: _containers.RepeatedScalarFieldContainer[int]
    own_name: _containers.RepeatedScalarFieldContainer[int]
    own_of: _containers.RepeatedScalarFieldContainer[int]
    own_unit: _containers.RepeatedScalarFieldContainer[int]
    own_worse: _containers.RepeatedScalarFieldContainer[int]
    own_why: _containers.RepeatedScalarFieldContainer[int]
    own_record: _containers.RepeatedScalarFieldContainer[int]
    own_row: _containers.RepeatedScalarFieldContainer[int]
    own_statistic: _containers.RepeatedScalarFieldContainer[int]
    own_value: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, tag: _Optional[str] = ..., graph_hash: _Optional[str] = ..., rows: _Optional[int] = ..., strings: _Optional[_Iterable[str]] = ..., step: _Optional[_Iterable[int]] = ..., wall_time: _Optional[_Iterable[float]] = ..., backward_pass: _Optional[_Iterable[int]] = ..., objective: _Optional[_Iterable[int]] = ..., stage: _Optional[_Iterable[int]] = ..., present_rows: _Optional[_Iterable[int]] = ..., loss_scale: _Optional[_Iterable[float]] = ..., skipped: _Optional[_Iterable[bool]] = ..., every_n_steps: _Optional[_Iterable[int]] = ..., cost: _Optional[_Iterable[float]] = ..., present: _Optional[bytes] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., whole: _Optional[_Union[Whole, _Mapping]] = ..., only_present: bool = ..., unread_record: _Optional[_Iterable[int]] = ..., unread_row: _Optional[_Iterable[int]] = ..., unread_reason: _Optional[_Iterable[int]] = ..., quantity_record: _Optional[_Iterable[int]] = ..., quantity_name: _Optional[_Iterable[int]] = ..., quantity_value: _Optional[_Iterable[float]] = ..., missing_record: _Optional[_Iterable[int]] = ..., missing_name: _Optional[_Iterable[int]] = ..., missing_reason: _Optional[_Iterable[int]] = ..., own_name: _Optional[_Iterable[int]] = ..., own_of: _Optional[_Iterable[int]] = ..., own_unit: _Optional[_Iterable[int]] = ..., own_worse: _Optional[_Iterable[int]] = ..., own_why: _Optional[_Iterable[int]] = ..., own_record: _Optional[_Iterable[int]] = ..., own_row: _Optional[_Iterable[int]] = ..., own_statistic: _Optional[_Iterable[int]] = ..., own_value: _Optional[_Iterable[float]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "type", "width", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: ElementType
    width: int
    data: bytes
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[ElementType, str]] = ..., width: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Whole(_message.Message):
    __slots__ = ("record", "row", "is_value", "type", "rank", "size", "uncompressed_bytes", "data")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    IS_VALUE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    UNCOMPRESSED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    record: _containers.RepeatedScalarFieldContainer[int]
    row: _containers.RepeatedScalarFieldContainer[int]
    is_value: _containers.RepeatedScalarFieldContainer[bool]
    type: _containers.RepeatedScalarFieldContainer[ElementType]
    rank: _containers.RepeatedScalarFieldContainer[int]
    size: _containers.RepeatedScalarFieldContainer[int]
    uncompressed_bytes: int
    data: bytes
    def __init__(self, record: _Optional[_Iterable[int]] = ..., row: _Optional[_Iterable[int]] = ..., is_value: _Optional[_Iterable[bool]] = ..., type: _Optional[_Iterable[_Union[ElementType, str]]] = ..., rank: _Optional[_Iterable[int]] = ..., size: _Optional[_Iterable[int]] = ..., uncompressed_bytes: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
