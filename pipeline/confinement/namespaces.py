"""Namespaces: this process gets a network with no interfaces, and a file system with nothing but some folders.

Landlock refuses to open a file but not to ask whether it exists, how large it is and when it was changed; what is not
mounted cannot be asked about. https://man7.org/linux/man-pages/man7/namespaces.7.html
"""

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from pipeline.confinement.libc import call

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_NETWORK = 0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
AT_FDCWD = -100
READ_ONLY, NO_SET_USER_ID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
MOUNT_POINT = Path("/usr")
"""Folder that the new root covers until it is the root; it is empty on no system."""


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace"))


@functools.cache
def enter() -> None:
    """Enter a user, mount, network, IPC and host-name namespace of its own, with the same user and group.

    Does nothing if this process, or one that it was forked from, has done it: a parent saves its children some
    milliseconds. The process, which must have a single thread, then has every capability inside and none outside.
    Raises OSError where the system does not permit it.
    """
    user, group = os.geteuid(), os.getegid()
    call("unshare", NEW_USER | NEW_MOUNTS | NEW_NETWORK | NEW_IPC | NEW_UTS)
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", file).write_text(text)


def change_root(readable: Iterable[Path], writable: Iterable[Path] = ()) -> None:
    """Replace the file system by an empty one that holds these files and folders at their places.

    For a process that has called `enter`, or whose parent has. Nothing else exists afterwards, not even /proc and /dev.
    Raises OSError.
    """
    readable, writable = list(readable), list(writable)
    aliases = {path.absolute(): path.resolve() for path in (*readable, *writable) if path.exists()}
    writable = _outermost(writable)
    readable = [path for path in _outermost(readable) if path not in writable]
    call("unshare", NEW_MOUNTS)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", b"tmpfs", bytes(MOUNT_POINT), b"tmpfs", 0, b"size=1m,mode=755")
    os.chdir(MOUNT_POINT)
    os.mkdir("old")
    call("syscall", PIVOT_ROOT[os.uname().machine], b".", b"old")
    for path in [*readable, *writable]:
        _bind(path, READ_ONLY if path in readable else 0)
    for path, target in aliases.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
    call("umount2", b"/old", MNT_DETACH)
    os.rmdir("/old")
    _set_attributes(Path("/"), READ_ONLY, recursive=False)
    os.chdir("/")


@functools.cache
def is_permitted() -> bool:
    """Return whether this system lets an ordinary process do both, tried in a process of its own."""
    if sys.platform != "linux" or os.uname().machine not in PIVOT_ROOT:
        return False
    answer, child_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            enter()
            change_root([])
            os.write(child_end, b"y")
        finally:
            os._exit(0)
    os.close(child_end)
    with open(answer, "rb") as answers:
        permitted = answers.read() == b"y"
    with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored, the kernel has waited for it
        os.waitpid(child, 0)
    return permitted


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the existing paths that do not lie in another one of them."""
    existing = {path.resolve() for path in paths if path.exists()}
    return [path for path in sorted(existing) if existing.isdisjoint(path.parents)]


def _bind(path: Path, attributes: int) -> None:
    """Mount a file or folder of the old root at its place in the new one."""
    source = Path("/old") / path.relative_to("/")
    if source.is_dir():
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    call("mount", bytes(source), bytes(path), None, MS_BIND | MS_REC, None)
    _set_attributes(path, attributes | NO_SET_USER_ID | NO_DEVICES, recursive=True)


def _set_attributes(mount: Path, attributes: int, recursive: bool) -> None:
    flags = 0x8000 if recursive else 0
    size = ctypes.sizeof(_MountAttributes)
    # 442: system call number, the same on every architecture
    call("syscall", 442, AT_FDCWD, bytes(mount), flags, _MountAttributes(attributes, 0, 0, 0), size)
