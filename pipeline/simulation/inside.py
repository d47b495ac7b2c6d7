"""The small world generated code lives in: few builtins, three imports, and a watchman who says what it tried.

None of this holds against someone determined; `confine` does. It is here so that an honest mistake gets a clear
sentence with its line, and so that a program that changes the kit under its own checks is found out.
"""

import builtins
import os
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.simulation import kit
from pipeline.simulation.confine import libraries

SIDES = ("simulation.py", "checks.py")
IMPORTS = ("kit", "math", "numpy")
ALLOWED = """
    abs all any bool bytes callable chr complex dict divmod enumerate filter float format frozenset hash int
    isinstance issubclass iter len list map max min next ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip __build_class__ True False None NotImplemented Ellipsis
"""

WATCHED = ("subprocess.", "socket.", "ctypes.", "shutil.", "mmap.", "resource.", "pty.", "sys.addaudithook")
WATCHED_OS = frozenset(
    f"os.{name}"
    for name in (
        *("system", "exec", "fork", "forkpty", "posix_spawn", "kill", "killpg", "remove", "rename", "mkdir", "rmdir"),
        *("link", "symlink", "chmod", "chown", "truncate", "putenv", "utime", "setxattr"),
    )
)


class Refused(Exception):
    """The program asked for something that is not in its world."""


class _Door(types.ModuleType):
    """A module that can be looked at and not changed."""

    def __setattr__(self, name: str, value: object) -> None:
        raise Refused(f"the program assigned to {self.__name__}.{name}; the kit cannot be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]


class Inside:
    """The program's sources, read and run among restricted builtins, and watched."""

    def __init__(self, readable: Iterable[Path], refused: Callable[[str], None]):
        self.printed = ""
        """What the program printed, its first 2,000 characters."""
        self._sources: dict[str, str] = {}
        self._refused = refused
        self._said = False
        self._readable = tuple(str(path.resolve()) for path in [*readable, *libraries()])
        self._kit = _Door("kit", kit.__doc__)
        vars(self._kit).update({name: value for name, value in vars(kit).items() if not name.startswith("_")})
        self._before = _parts_of_the_kit()
        sys.addaudithook(self._watch)

    def read(self, side: str, source: str) -> dict[str, Any]:
        """The names a source defines, in its order. Raises whatever the source raises."""
        self._sources[side] = source
        names: dict[str, Any] = {"__builtins__": self._builtins(), "__name__": side.removesuffix(".py")}
        exec(compile(source, side, "exec", dont_inherit=True), names)
        return names

    def line(self, error: BaseException, side: str) -> int | None:
        """The innermost line of that side in an error's traceback."""
        lines = [number for name, number in _frames(error) if name == side]
        return lines[-1] if lines else None

    def source(self, side: str, line: int | None) -> str:
        """The text of one line."""
        return self._sources[side].splitlines()[line - 1].strip() if line else side

    def untouched(self, sim: object) -> None:
        """Raises Refused where the program has changed the kit or the simulation's own methods."""
        for name, (owner, key, value, code) in self._before.items():
            now = vars(owner).get(key, Refused)
            if now is not value or getattr(now, "__code__", None) is not code:
                raise Refused(f"the program changed the kit ({name})")
        for name in getattr(sim, "__dict__", ()):
            if callable(getattr(type(sim), name, None)):
                raise Refused(f"the program replaced the simulation's own {name}()")

    def _builtins(self) -> dict[str, Any]:
        names = {name: getattr(builtins, name) for name in ALLOWED.split() if hasattr(builtins, name)}
        faults = {
            name: value
            for name, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, Exception)
        }
        return names | faults | {"print": self._print, "__import__": self._import}

    def _import(self, name: str, globals=None, locals=None, fromlist=(), level: int = 0):
        if level or name.split(".")[0] not in IMPORTS:
            raise self._refuse(f"imports {name or 'from its own folder'}; only {', '.join(IMPORTS)} are there")
        return self._kit if name == "kit" else __import__(name, globals, locals, fromlist, level)

    def _print(self, *values: object, sep: str = " ", end: str = "\n", **_: object) -> None:
        self.printed = (self.printed + (sep or "").join(map(str, values)) + end)[:2000]

    def _watch(self, event: str, given: tuple) -> None:
        """Python's audit hook; runs before the kernel is asked, and knows which line asked."""
        if event in ("open", "os.listdir", "os.scandir"):
            if _from_program() and not self._may_open(event, given):
                raise self._refuse(f"tried to open {given[0]!r}"[:200])
        elif (event.startswith(WATCHED) or event in WATCHED_OS) and _from_program():
            raise self._refuse(f"tried {event}, which no simulation needs")

    def _may_open(self, event: str, given: tuple) -> bool:
        if not isinstance(given[0], (str, bytes, os.PathLike)):
            return False
        path = os.path.realpath(os.fsdecode(given[0]))
        reads = event != "open" or not (given[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        return reads and any(path == root or path.startswith(root + os.sep) for root in self._readable)

    def _refuse(self, what: str) -> Refused:
        """Said at once, so that a program which swallows the error does not hide it."""
        text = f"{_from_program() or 'the program'} {what}"
        if not self._said:
            self._said = True
            self._refused(text)
        return Refused(text)


def place(error: BaseException, side: str) -> str:
    """One line: the side and line of generated code where an error arose, its type and text."""
    if isinstance(error, SyntaxError) and error.filename in SIDES:
        return f"{error.filename}:{error.lineno} {type(error).__name__}: {error.msg}"
    inside = [f"{name}:{number}" for name, number in _frames(error)]
    text = " ".join(str(error).split())[:500]
    return f"{inside[-1] if inside else side} {type(error).__name__}: {text}".rstrip(": ")


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """File and line of each frame of generated code in a traceback, outermost first."""
    found, trace = [], error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in SIDES:
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _from_program() -> str:
    """Side and line of the generated code that is asking; empty where our own code is."""
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_filename in SIDES:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _parts_of_the_kit() -> dict[str, tuple[Any, str, Any, Any]]:
    """Every function, class and method of the kit by name: where it hangs, itself, and its code where it has one."""
    parts: dict[str, tuple[Any, str, Any, Any]] = {}

    def add(owner: Any, name: str) -> None:
        for key, value in vars(owner).items():
            if callable(value) or isinstance(value, (property, staticmethod, classmethod)):
                parts[f"{name}.{key}"] = (owner, key, value, getattr(value, "__code__", None))

    for room, module in list(sys.modules.items()):
        if room.startswith("pipeline.simulation."):
            add(module, room.rsplit(".", 1)[1])
            for name, value in vars(module).items():
                if isinstance(value, type) and value.__module__ == room:
                    add(value, name)
    return parts
