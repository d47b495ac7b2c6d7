"""Path of `sample_scenes/`, which is beside `pipeline/` in a checkout and inside it in an installed wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_sample_scenes"

SAMPLE_SCENES = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "sample_scenes"
"""Folder of the sample frames and of `library/`, the default asset library."""
