"""Lets Gradio load without writing type stubs.

At each start it parses its own sources to write a .pyi file beside every component class, ours too: more than half of
the time its import takes (gradio/component_meta.py, 6.31).
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE, WRITER = "gradio.component_meta", "create_or_modify_pyi"


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = _Stubless(spec.loader)
        return spec


class _Stubless(Loader):
    def __init__(self, usual: Any):
        self._usual = usual

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._usual.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._usual.exec_module(module)
        if hasattr(module, WRITER):
            setattr(module, WRITER, lambda *_: None)


def install() -> None:
    """To be called before gradio is imported; afterwards it does nothing."""
    if MODULE not in sys.modules and not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
