"""The benches can be started; what they measure is not tested here."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHES = [path for path in sorted((ROOT / "bench").rglob("*.py")) if path.name != "__init__.py"]
OURS = {"pipeline", "studio", "components", "bench", "scripts", "tests", "sample_scenes"}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in OURS:
            yield from ((str(node.module), name.name) for name in node.names)


@cache
def defined(module: str) -> set[str]:
    place = ROOT / module.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    names = {path.stem for path in place.iterdir()} if place.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text() if file.exists() else "")):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if isinstance(node, ast.ImportFrom | ast.Import):
            names |= {name.asname or name.name for name in node.names}
    return names


def test_a_bench_imports_only_names_that_there_are():
    missing = [
        f"{path.relative_to(ROOT)}: {module} has no {name}"
        for path in BENCHES for module, name in imports(path) if name not in defined(module)
    ]  # fmt: skip
    assert BENCHES and not missing


@pytest.mark.soak
@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_bench_can_be_imported(path: Path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    code = f"import runpy; runpy.run_module({module!r}, run_name='imported')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
