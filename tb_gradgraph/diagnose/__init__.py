"""Graph and statistics in, ranked findings out."""

from tb_gradgraph.diagnose.finding import Finding
from tb_gradgraph.diagnose.findings import findings

__all__ = ["Finding", "findings"]
