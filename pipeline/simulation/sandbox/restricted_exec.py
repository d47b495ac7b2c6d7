"""Restricted execution of generated code: few builtins, three imports, and an audit hook that reports violations.

This is no protection against a determined program; `confine` is. It gives honest mistakes a clear message with their
line, and it detects programs that change the kit that their own checks use.
"""

import builtins
import os
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.confinement import library_folders
from pipeline.simulation import kit

SOURCE_FILES = ("simulation.py", "checks.py")
ALLOWED_IMPORTS = ("kit", "math", "numpy")
ALLOWED_BUILTINS = """
    abs all any bool bytes callable chr complex dict divmod enumerate filter float format frozenset hash int
    isinstance issubclass iter len list map max min next ord pow property range repr reversed round set slice sorted
    staticmethod str sum super tuple zip __build_class__ True False None NotImplemented Ellipsis
"""

AUDITED_PREFIXES = ("subprocess.", "socket.", "ctypes.", "shutil.", "mmap.", "resource.", "pty.", "sys.addaudithook")
AUDITED_OS_EVENTS = frozenset(
    f"os.{name}"
    for name in (
        *("system", "exec", "fork", "forkpty", "posix_spawn", "kill", "killpg", "remove", "rename", "mkdir", "rmdir"),
        *("link", "symlink", "chmod", "chown", "truncate", "putenv", "utime", "setxattr"),
    )
)


class ProgramViolation(Exception):
    """The program did something that it is not allowed to do."""


class _ReadOnlyModule(types.ModuleType):
    """Module whose attributes cannot be assigned."""

    def __setattr__(self, name: str, value: object) -> None:
        raise ProgramViolation(f"the program assigned to {self.__name__}.{name}; the kit cannot be changed")

    __delattr__ = __setattr__  # type: ignore[assignment]


class RestrictedInterpreter:
    """Executes a program's sources with restricted builtins, and audits what they do."""

    def __init__(self, readable: Iterable[Path], report: Callable[[str], None]):
        """`readable` files and folders may be opened; `report` is called once, at the first violation."""
        self.printed = ""
        """First 2,000 characters that the program printed."""
        self._sources: dict[str, str] = {}
        self._report = report
        self._reported = False
        self._readable = tuple(str(path.resolve()) for path in [*readable, *library_folders()])
        self._kit = _ReadOnlyModule("kit", kit.__doc__)
        vars(self._kit).update({name: value for name, value in vars(kit).items() if not name.startswith("_")})
        self._originals = _kit_members()
        sys.addaudithook(self._audit)

    def execute(self, file: str, source: str) -> dict[str, Any]:
        """Execute a source and return the names that it defines, in order. Raises whatever the source raises."""
        self._sources[file] = source
        names: dict[str, Any] = {"__builtins__": self._builtins(), "__name__": file.removesuffix(".py")}
        exec(compile(source, file, "exec", dont_inherit=True), names)
        return names

    def failing_line(self, error: BaseException, file: str) -> int | None:
        """Return the innermost line of a source file in an error's traceback; None if it is not in it."""
        lines = [number for name, number in _frames(error) if name == file]
        return lines[-1] if lines else None

    def line_text(self, file: str, line: int | None) -> str:
        """Return the text of one line; the file's name without a line."""
        return self._sources[file].splitlines()[line - 1].strip() if line else file

    def require_unmodified(self, sim: object) -> None:
        """Raise ProgramViolation if the program has changed the kit or the simulation's methods."""
        for name, (owner, key, value, code) in self._originals.items():
            current = vars(owner).get(key, ProgramViolation)
            if current is not value or getattr(current, "__code__", None) is not code:
                raise ProgramViolation(f"the program changed the kit ({name})")
        for name in getattr(sim, "__dict__", ()):
            if callable(getattr(type(sim), name, None)):
                raise ProgramViolation(f"the program replaced the simulation's own {name}()")

    def _builtins(self) -> dict[str, Any]:
        names = {name: getattr(builtins, name) for name in ALLOWED_BUILTINS.split() if hasattr(builtins, name)}
        exceptions = {
            name: value
            for name, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, Exception)
        }
        return names | exceptions | {"print": self._print, "__import__": self._import}

    def _import(self, name: str, globals=None, locals=None, fromlist=(), level: int = 0):
        if level or name.split(".")[0] not in ALLOWED_IMPORTS:
            raise self._violation(
                f"imports {name or 'from its own folder'}; only {', '.join(ALLOWED_IMPORTS)} are available"
            )
        return self._kit if name == "kit" else __import__(name, globals, locals, fromlist, level)

    def _print(self, *values: object, sep: str = " ", end: str = "\n", **_: object) -> None:
        self.printed = (self.printed + (sep or "").join(map(str, values)) + end)[:2000]

    def _audit(self, event: str, arguments: tuple) -> None:
        """Audit hook of Python: runs before the system call and knows the line of code that makes it."""
        if event in ("open", "os.listdir", "os.scandir"):
            if _generated_caller() and not self._may_open(event, arguments):
                raise self._violation(f"tried to open {arguments[0]!r}"[:200])
        elif (event.startswith(AUDITED_PREFIXES) or event in AUDITED_OS_EVENTS) and _generated_caller():
            raise self._violation(f"tried {event}, which no simulation needs")

    def _may_open(self, event: str, arguments: tuple) -> bool:
        if not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return False
        path = os.path.realpath(os.fsdecode(arguments[0]))
        reads = event != "open" or not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        return reads and any(path == root or path.startswith(root + os.sep) for root in self._readable)

    def _violation(self, action: str) -> ProgramViolation:
        """Return the error, reported immediately so that a program cannot hide it by catching it."""
        text = f"{_generated_caller() or 'the program'} {action}"
        if not self._reported:
            self._reported = True
            self._report(text)
        return ProgramViolation(text)


def describe_error(error: BaseException, file: str) -> str:
    """Return one line: file and line of generated code where an error arose, its type and message."""
    if isinstance(error, SyntaxError) and error.filename in SOURCE_FILES:
        return f"{error.filename}:{error.lineno} {type(error).__name__}: {error.msg}"
    frames = [f"{name}:{number}" for name, number in _frames(error)]
    text = " ".join(str(error).split())[:500]
    return f"{frames[-1] if frames else file} {type(error).__name__}: {text}".rstrip(": ")


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """Return file and line of each frame of generated code in a traceback, outermost first."""
    found, trace = [], error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename in SOURCE_FILES:
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _generated_caller() -> str:
    """Return file and line of the innermost generated code on the stack; empty if there is none."""
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_filename in SOURCE_FILES:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _kit_members() -> dict[str, tuple[Any, str, Any, Any]]:
    """Return every function, class and method of the kit by name: owner, key, the object and its code if it has one."""
    members: dict[str, tuple[Any, str, Any, Any]] = {}

    def add(owner: Any, name: str) -> None:
        for key, value in vars(owner).items():
            if callable(value) or isinstance(value, (property, staticmethod, classmethod)):
                members[f"{name}.{key}"] = (owner, key, value, getattr(value, "__code__", None))

    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("pipeline.simulation."):
            add(module, module_name.rsplit(".", 1)[1])
            for name, value in vars(module).items():
                if isinstance(value, type) and value.__module__ == module_name:
                    add(value, name)
    return members
