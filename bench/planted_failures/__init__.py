"""Sixty episodes that fail in a known way, and how many of them get their class."""
