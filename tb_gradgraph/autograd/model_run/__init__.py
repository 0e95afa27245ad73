"""One forward and backward of ours."""
