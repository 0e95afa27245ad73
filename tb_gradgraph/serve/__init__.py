"""TensorBoard in, JSON and binary frames out; http_api.md is the contract."""
