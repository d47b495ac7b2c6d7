"""Two arms as one robot: each acts while the other waits at its home."""
