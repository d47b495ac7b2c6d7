"""Lets Gradio load without writing type stubs, which takes more than half of the time of its import.

Needed of Gradio 6.31: at each import it parses its own sources to write a .pyi file beside every component class, ours
too, by `gradio.component_meta.create_or_modify_pyi`, whose result nobody uses.
tests/studio/web/test_gradio_internals.py fails when that changes.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE, STUB_WRITER = "gradio.component_meta", "create_or_modify_pyi"


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = _StublessLoader(spec.loader)
        return spec


class _StublessLoader(Loader):
    """Loads the module and replaces its stub writer by a function that does nothing."""

    def __init__(self, loader: Any):
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if hasattr(module, STUB_WRITER):
            setattr(module, STUB_WRITER, lambda *_: None)


def install() -> None:
    """Install the import hook. Call it before gradio is imported; afterwards it has no effect."""
    if MODULE not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
