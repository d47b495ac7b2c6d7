"""Lets Gradio load without writing type stubs, which takes more than half of the time of its import.

Needed of Gradio 6: at each import it parses its own sources to write a .pyi file beside every component
class, ours too, by `gradio.component_meta.create_or_modify_pyi`, whose result nobody uses.
tests/studio/web/test_gradio_internals.py fails when that changes.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE = "gradio.component_meta"


class _Stubless(PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec: Any = super().find_spec(fullname, path, target) if fullname == MODULE else None
        if spec:
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (run(module), vars(module).update(create_or_modify_pyi=_no_stub))
        return spec


def _no_stub(*_: object) -> None: ...


def install() -> None:
    """Install the import hook. Call it before gradio is imported; afterwards it has no effect."""
    if MODULE not in sys.modules and _Stubless not in sys.meta_path:
        sys.meta_path.insert(0, _Stubless)
