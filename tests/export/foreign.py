"""The Python that has lerobot (`scripts/setup --soak`), and the lines of docs/exports.md that load each format."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEROBOT = ROOT / "build" / "soak" / "lerobot" / "bin" / "python"
DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```python (\S+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTED = {name: (out, code) for name, out, code in EXAMPLE.findall(DOC)}
"""The name of an export and the code that loads it, by format."""
