"""See the autograd graph of a PyTorch training, with its gradients, in TensorBoard."""
__version__ = "0.1.0"
