"""What was read or worked out for a page, kept until the file it comes from changes."""

import secrets
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from studio.notices import sentence
from studio.telling import Line, Telling

T = TypeVar("T")


class Keeping(Telling):
    """Something with a folder, that keeps what it read there."""

    def __init__(self, folder: Path, before: Iterable[Line] = ()):
        super().__init__(before)
        self._folder = folder
        self._kept: dict[str, tuple[int, Any]] = {}
        self._computing: set[str] = set()

    def kept(self, name: str, file: str, read: Callable[[], T]) -> T:
        """What `read` gives, kept until that file of the project changes."""
        stamp = self._stamp(file)
        known = self._kept.get(name)
        if known is None or known[0] != stamp:
            known = self._kept[name] = (stamp, read())
        return known[1]

    def later(self, name: str, file: str, read: Callable[[], T]) -> T | None:
        """The same for what takes longer than a page shall wait: None, or what was kept last, until it is there."""
        stamp, known = self._stamp(file), self._kept.get(name)
        if (known is None or known[0] != stamp) and name not in self._computing:
            self._computing.add(name)
            threading.Thread(target=self._compute, args=(name, file, read), daemon=True, name=name).start()
        return known[1] if known else None

    def _compute(self, name: str, file: str, read: Callable[[], Any]) -> None:
        try:
            self.kept(name, file, read)
        except Exception as error:
            self._kept[name] = (self._stamp(file), None)
            self._note(sentence(error), "bad")
        finally:
            self._computing.discard(name)
            self._news()

    def aside(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Does something beside the work on the stages, in a thread of its own; what goes wrong is said."""
        name = f"aside {secrets.token_hex(4)}"
        self._computing.add(name)

        def run() -> None:
            try:
                work(*arguments)
            except Exception as error:
                self.complain(error)
            finally:
                self._computing.discard(name)
                self._news()

        threading.Thread(target=run, daemon=True, name=name).start()

    def stamp(self, file: str) -> str:
        """Changes when that file does: makes an address new when its picture is."""
        return f"{self._stamp(file):x}"

    def _stamp(self, file: str) -> int:
        path = self._folder / file
        return path.stat().st_mtime_ns if path.exists() else 0
