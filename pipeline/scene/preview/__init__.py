"""Previews that a page shows without building the twin again."""
