"""The exports in other people's programs: which program reads which, and how far what it reads is from the twin.

A program of readers/ runs by the tool's Python in build/soak (scripts/setup --soak) and prints [version, objects]: by
name, what the tool has of `mass` (kg), sliding `friction`, number of `joints`, `start` and `after` (3: where the object
is, and 2 s later, metres), and `box` or `visible` (2, 3: around what collides, or what is seen). What a tool does not
have is not there. `python -m bench.consumers` prints the table of the last `make soak`.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from bench import ROOT
from bench.measurement import NotMeasured
from pipeline.store import write_json

SOAK = ROOT / "build" / "soak"
FIGURES = SOAK / "consumers.json"
READERS = Path(__file__).with_name("readers")
NEAR_M = 0.001
"""What a pose, a size or 2 s at rest may be off."""


@dataclass(frozen=True)
class Consumer:
    """A program that reads an export.

    Args:
        environment: Its folder in build/soak.
        call: Program of readers/ and its first argument.
        export: Format and name of the export.
        still_m: How far an object may move in 2 s.
        refuses: What it says to a scene of ours that it cannot read; then its word is what is checked.
    """

    name: str
    environment: str
    call: tuple[str, str]
    export: tuple[str, str]
    still_m: float = NEAR_M
    refuses: str = ""


URDF, MJCF, GLB = ("urdf", "twin_urdf"), ("mjcf", "twin_mjcf"), ("glb", "twin.glb")
USDC, USDZ = ("usd", "twin.usdc"), ("usd", "twin.usdz")
CONSUMERS = (
    # Bullet lifts a cylinder by its collision margin of 1 mm.
    Consumer("PyBullet", "simulators", ("urdf_simulators", "pybullet"), URDF, still_m=0.0015),
    Consumer("Drake", "simulators", ("urdf_simulators", "drake"), URDF),
    Consumer("SAPIEN", "simulators", ("urdf_simulators", "sapien"), URDF),
    Consumer("Newton", "simulators", ("urdf_simulators", "newton"), URDF),
    Consumer("Newton", "simulators", ("newton_scenes", "mjcf"), MJCF),
    Consumer("Newton", "simulators", ("newton_scenes", "usd"), USDC),
    Consumer("ManiSkill", "mani_skill", ("urdf_simulators", "mani_skill"), URDF),
    Consumer("Genesis", "genesis", ("urdf_simulators", "genesis"), URDF),
    Consumer("MuJoCo", "robosuite", ("mujoco_models", "mujoco_itself"), MJCF),
    Consumer("robosuite", "robosuite", ("mujoco_models", "robosuite"), MJCF),
    Consumer("MJX on JAX", "mjx", ("mujoco_models", "mjx_jax"), MJCF, refuses="collisions not implemented"),
    Consumer("MJX on Warp", "mjx", ("mujoco_models", "mjx_warp"), MJCF),
    Consumer("Brax", "mjx", ("mujoco_models", "brax"), MJCF, refuses="not implemented|inertia"),
    Consumer("MuJoCo Warp", "simulators", ("mujoco_models", "mujoco_warp"), MJCF),
    Consumer("mujoco-usd-converter", "usd", ("usd_converters", "mujoco"), MJCF),
    Consumer("urdf-usd-converter", "usd", ("usd_converters", "urdf"), URDF),
    Consumer("Blender", "blender", ("blender", "glb"), GLB),
    Consumer("Blender", "blender", ("blender", "usd"), USDC),
    Consumer("Blender", "blender", ("blender", "usd"), USDZ),
)


def python_of(environment: str) -> Path:
    """Return the Python of an environment of build/soak. Raises NotMeasured with the reason."""
    python, missing = SOAK / environment / "bin" / "python", SOAK / f"{environment}.missing"
    if missing.is_file():
        raise NotMeasured(f"{environment} could not be installed here: {missing.read_text().strip()}")
    if not python.is_file():
        raise NotMeasured(f"{environment} is not installed; scripts/setup --soak does it")
    return python


def truth(project: Path) -> dict[str, dict[str, Any]]:
    """Return the objects of a twin as readers/mujoco_models.py gives them, with `fixed`."""
    code = "import json, sys, mujoco_models as m; print(json.dumps(m.objects(*m.read(sys.argv[1]))))"
    command = [str(ROOT / ".venv" / "bin" / "python"), "-c", code, str(project / "scene" / "scene.xml")]
    return json.loads(subprocess.run(command, cwd=READERS, check=True, capture_output=True, text=True).stdout)


def opened(consumer: Consumer, export: Path, wanted: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Read a copy of an export in a folder; return `version` and `objects`, or `said`, what a failure prints."""
    copy = folder / export.name
    (shutil.copytree if export.is_dir() else shutil.copy)(export, copy)
    textures = export.with_name(f"{export.stem}_textures")
    if textures.is_dir():
        shutil.copytree(textures, folder / textures.name)
    program, first = consumer.call
    command = [str(python_of(consumer.environment)), "-B", str(READERS / f"{program}.py"), first, str(copy)]
    ran = subprocess.run([*command, json.dumps(list(wanted))], cwd=folder, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    if ran.returncode or not lines:
        return {"said": (ran.stderr or ran.stdout)[-2000:]}
    version, objects = json.loads(lines[-1])
    return {"version": version, "objects": objects}


def differences(
    consumer: Consumer, found: dict[str, dict], wanted: dict[str, dict]
) -> tuple[list[str], dict[str, float]]:
    """Compare what a tool read with the twin; return what is wrong, a line each, and the largest figure by kind."""
    wrong = [f"{name}: not there" for name in wanted if name not in found]
    worst: dict[str, float] = {}
    for name, one in found.items():
        for kind, off, allowed in _figures(one, wanted[name], consumer.still_m):
            worst[kind] = max(worst.get(kind, 0.0), off)
            if not off <= allowed:  # a NaN is wrong too
                wrong.append(f"{name}: {kind} is off by {off:.6g}")
    return wrong, worst


def _figures(one: dict[str, Any], wanted: dict[str, Any], still_m: float) -> list[tuple[str, float, float]]:
    """Return the kind, how far it is off and how far it may be, for what a tool has of an object."""
    figures = []
    if one.get("mass") is not None and not wanted["fixed"]:  # a fixed one has none in simulators
        figures.append(("mass", abs(one["mass"] / wanted["mass"] - 1), 1e-4))
    if "friction" in one and wanted["friction"] is not None:
        off = float("nan") if one["friction"] is None else abs(one["friction"] - wanted["friction"])
        figures.append(("friction", off, 1e-5))
    if "joints" in one:
        figures.append(("joints", abs(one["joints"] - wanted["joints"]), 0))
    for kind, of, key, allowed in (
        ("pose", "start", "start", NEAR_M),
        ("moved", "after", "start", still_m),
        ("size", "box", "box", NEAR_M),
        ("look", "visible", "visible", NEAR_M),
    ):
        if of in one and key in wanted:
            figures.append((kind, float(np.abs(np.array(one[of]) - wanted[key]).max()), allowed))
    return figures


def kept(consumer: Consumer, project: str, version: str, figures: dict[str, float]) -> None:
    """Keep what was found in build/soak, for the table."""
    with FileLock(FIGURES.with_suffix(".lock")):
        known = json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}
        row = known.setdefault(f"{consumer.name} | {consumer.export[1].replace('twin_', '').replace('twin.', '')}", {})
        row["version"] = version
        row.setdefault("projects", {})[project] = figures
        write_json(FIGURES, known)


def table() -> list[str]:
    """Return the lines of a table of the kept figures: the largest of all projects."""
    lines = ["| tool | export | projects | mass | friction | joints | pose, mm | size, mm | after 2 s, mm |"]
    lines.append("|---" * 9 + "|")
    for name, row in sorted(json.loads(FIGURES.read_text()).items()):
        tool, export = name.split(" | ")
        figures = {kind: max(one[kind] for one in row["projects"].values() if kind in one) for kind in _kinds(row)}
        if "size" not in figures and "look" in figures:
            figures["size"] = figures["look"]
        cells = [_cell(figures, kind) for kind in ("mass", "friction", "joints", "pose", "size", "moved")]
        lines.append(
            "| " + " | ".join([f"{tool} {row['version']}", export, ", ".join(sorted(row["projects"])), *cells]) + " |"
        )
    return lines


def _kinds(row: dict[str, Any]) -> set[str]:
    return {kind for one in row["projects"].values() for kind in one}


def _cell(figures: dict[str, float], kind: str) -> str:
    if kind not in figures:
        return ""
    if kind in ("mass", "friction", "joints"):
        return "right"
    return "< 0.001" if figures[kind] < 1e-6 else f"{1000 * figures[kind]:.2g}"
