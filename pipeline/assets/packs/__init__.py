"""Packs: asset libraries of other projects, with their licences."""
