"""Exporters of the twin in formats of other programs, one file a format."""
