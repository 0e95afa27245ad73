"""What users call and hold."""

from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.api.switch import is_off
from tb_gradgraph.api.writer import SummaryWriter, add_grad_graph, capture, watch

__all__ = ["GradGraph", "SummaryWriter", "add_grad_graph", "capture", "is_off", "watch"]
