"""Noun phrases: which objects words refer to, and plain names of objects."""
