"""Readers of frame formats: each `open_*` function returns a Recording, or None for another format."""
