"""The Pythons that have other people's software (`scripts/setup --soak`), and docs/exports.md's lines by format."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEROBOT = ROOT / "build" / "soak" / "lerobot" / "bin" / "python"
SIMULATORS = ROOT / "build" / "soak" / "simulators" / "bin" / "python"
DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```python (\S+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTED = {name: (out, code) for name, out, code in EXAMPLE.findall(DOC)}
"""The name of an export and the code that loads it, by format."""
