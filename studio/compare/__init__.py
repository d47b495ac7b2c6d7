"""The Compare page: what it asks the server."""
