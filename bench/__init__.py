"""Measurements of speed and accuracy; each is a command (CONTRIBUTING.md). Nothing here is a test."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the scenes that tests draw import one another from there
