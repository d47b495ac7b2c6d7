"""Values memoised on disk under the hash of what they were computed from."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.store.files import read_json, write_json
from pipeline.store.storage_errors import StoreError


def memoise(folder: Path, key: str, compute: Callable[[], Any]) -> Any:
    """Return the JSON value saved under this key; compute and save it if there is none or it cannot be read.

    A value that cannot be saved is computed again next time, which is no error.
    """
    file, value = folder / f"{key}.json", None
    with suppress(StoreError):
        value = read_json(file)
    if value is None:
        value = compute()
        with suppress(StoreError):
            write_json(file, value)
    return value
