"""Names the licence of an asset from a licence file beside it."""

import re
from pathlib import Path

LICENCE_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING")
LICENCE_PATTERNS = (
    ("CC0-1.0", r"CC0 1\.0|Creative Commons Zero"),
    ("CC BY-NC-SA 4.0", r"Attribution-NonCommercial-ShareAlike 4\.0"),
    ("CC BY-NC 4.0", r"Attribution-NonCommercial 4\.0"),
    ("CC BY-SA 4.0", r"Attribution-ShareAlike 4\.0"),
    ("CC BY 4.0", r"Attribution 4\.0"),
    ("Apache-2.0", r"Apache License\s+Version 2\.0"),
    ("MIT", r"Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", r"Redistribution and use in source and binary(?s:.*)Neither the name"),
    ("BSD-2-Clause", r"Redistribution and use in source and binary"),
)
"""Names and regular expressions of their texts; the more specific ones come first."""
COPYRIGHT_LINE = re.compile(r"^\W*(Copyright\s.*\d{4}.*)$", re.MULTILINE)


def find_licence(source: Path, root: Path | None = None) -> str:
    """Return the name of the licence nearest to `source`, in its folder or above up to `root`; empty if none."""
    top = (root or source.parent).resolve()
    for folder in (source.resolve().parent, *source.resolve().parents):
        for name in LICENCE_FILES:
            file = folder / name
            if file.is_file() and not file.is_symlink():
                with file.open("rb") as text:
                    return licence_name(text.read(40_000).decode("utf-8", "replace"))
        if folder == top:
            break
    return ""


def licence_name(text: str) -> str:
    """Return a licence's common name and copyright line if its text is known, else its first line."""
    words = re.sub(r"[ \t]+", " ", text)
    title = next((name for name, wording in LICENCE_PATTERNS if re.search(re.sub(" ", r"\\s+", wording), words)), "")
    if not title:
        return next((line.strip()[:80] for line in words.splitlines() if line.strip()), "")
    holder = COPYRIGHT_LINE.search(words)
    return f"{title} ({' '.join(holder[1].split()).rstrip('.')[:80]})" if holder else title
