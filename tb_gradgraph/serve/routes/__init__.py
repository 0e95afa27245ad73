"""One file for each route of http_api.md."""
