"""Gaussian splats of the background and of objects: read from files, placed in the twin, touched by nothing."""
