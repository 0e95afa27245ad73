"""TensorBoard summaries that carry our records: class TENSOR, two strings, metadata on every one."""

from __future__ import annotations

from tensorboard.compat.proto.summary_pb2 import (
    DATA_CLASS_BLOB_SEQUENCE,
    DATA_CLASS_TENSOR,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING

from tb_gradgraph.record.envelope import Strings
from tb_gradgraph.record.tags import PLUGIN_NAME

#: Repeated in every listing, so tiny; readers go by the header's version, not by this.
PLUGIN_CONTENT = b"1"

#: The standard Graphs dashboard shows records of this plugin as further tags of a run.
_GRAPHS_PLUGIN = "graph_run_metadata_graph"


def record_summary(tag: str, strings: Strings) -> Summary:
    """Wrap header and payload of one record."""
    return _summary(tag, strings, PLUGIN_NAME, DATA_CLASS_TENSOR)


def dashboard_summary(tag: str, run_metadata: bytes) -> Summary:
    """Wrap a serialized RunMetadata for the standard Graphs dashboard."""
    return _summary(tag, (run_metadata,), _GRAPHS_PLUGIN, DATA_CLASS_BLOB_SEQUENCE)


def _summary(tag: str, strings: tuple[bytes, ...], plugin: str, data_class: int) -> Summary:
    content = SummaryMetadata.PluginData(plugin_name=plugin, content=PLUGIN_CONTENT)
    tensor = TensorProto(
        dtype=DT_STRING,
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=len(strings))]),
        string_val=strings,
    )
    metadata = SummaryMetadata(plugin_data=content, data_class=data_class)
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])
