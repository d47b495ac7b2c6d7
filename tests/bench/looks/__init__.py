"""How alike photograph and twin look."""
