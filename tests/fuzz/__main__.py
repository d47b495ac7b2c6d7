"""`python -m tests.fuzz READER FOLDER`: read the files of a finding once more."""

import sys
from pathlib import Path

from tests.fuzz.fuzz import examine

if __name__ == "__main__":
    name, folder = sys.argv[1], Path(sys.argv[2])
    print(examine(name, {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}))
