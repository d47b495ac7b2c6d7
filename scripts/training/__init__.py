"""Trains the networks that ship with the pipeline, from drawn frames and the built-in library."""

import sys
from pathlib import Path

# sample_scenes/ holds scripts that import each other by bare names, as `python sample_scenes/make_library.py` needs
sys.path.append(str(Path(__file__).resolve().parents[2] / "sample_scenes"))
