"""Under which terms a thing stands, as a file beside it says."""

import re
from pathlib import Path

FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING")
TITLES = (
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
"""Name and wording, the narrower one first."""
HOLDER = re.compile(r"^\W*(Copyright\s.*\d{4}.*)$", re.MULTILINE)


def licence_beside(source: Path, root: Path | None = None) -> str:
    """What the licence file nearest to `source`, no higher than `root`, is called, with whose it is; empty without."""
    top = (root or source.parent).resolve()
    for folder in (source.resolve().parent, *source.resolve().parents):
        for name in FILES:
            if (folder / name).is_file():
                return named((folder / name).read_text("utf-8", "replace")[:40_000])
        if folder == top:
            break
    return ""


def named(text: str) -> str:
    """A licence's usual name and its holder's line, where its text is a known one; else its first line."""
    words = re.sub(r"[ \t]+", " ", text)
    title = next((name for name, wording in TITLES if re.search(re.sub(" ", r"\\s+", wording), words)), "")
    if not title:
        return next((line.strip()[:80] for line in words.splitlines() if line.strip()), "")
    holder = HOLDER.search(words)
    return f"{title} ({' '.join(holder[1].split()).rstrip('.')[:80]})" if holder else title
