"""Files that survive a crash: atomic replacement, append-only logs, one writer a folder, memoised values."""

from pipeline.store.cache_folder import made_once, memoise, user_cache_folder
from pipeline.store.files import (
    append_lines,
    atomic_write,
    listed,
    read_arrays,
    read_json,
    refuse_links,
    write_arrays,
    write_bytes,
    write_json,
    write_text,
)
from pipeline.store.storage_errors import NewerFileError, StoreError, check_writable, saving, storage_error
from pipeline.store.temporary_files import is_temporary, remove_dead_files, temporary_beside, use_private_folder
from pipeline.store.values import digest, parse_json
from pipeline.store.writer_lock import LOCK_FILE, LockedError, WriterLock, announce

__all__ = [
    "LOCK_FILE",
    "LockedError",
    "NewerFileError",
    "StoreError",
    "WriterLock",
    "announce",
    "append_lines",
    "atomic_write",
    "check_writable",
    "digest",
    "is_temporary",
    "listed",
    "made_once",
    "memoise",
    "parse_json",
    "read_arrays",
    "read_json",
    "refuse_links",
    "remove_dead_files",
    "saving",
    "storage_error",
    "temporary_beside",
    "use_private_folder",
    "user_cache_folder",
    "write_arrays",
    "write_bytes",
    "write_json",
    "write_text",
]
