"""Statements: one verb with its objects and a relation, a place or an arrangement."""
