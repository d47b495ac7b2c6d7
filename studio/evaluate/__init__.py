"""The Evaluate page: what it asks the server."""
