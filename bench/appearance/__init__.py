"""How alike photograph and twin look, and where the light comes from."""
