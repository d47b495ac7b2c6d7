"""Import of mesh files and MJCF or URDF models into a library."""
