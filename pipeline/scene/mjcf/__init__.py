"""MJCF of a scene: the specification, mesh files and articulated objects."""
