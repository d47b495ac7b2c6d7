"""Goals: one module for each kind, found by spec.py."""
