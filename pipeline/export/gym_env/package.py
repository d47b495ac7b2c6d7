"""Writes the Gymnasium export: the environment's code, its layouts with goals, and verified demonstrations."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.gym_env.twin_world import TwinWorld, to_json
from pipeline.export.project_zip import licences
from pipeline.export.rollouts import SolvedRollout, copy_meshes, solved_rollouts
from pipeline.project import Project
from pipeline.scene.mjcf.background import keep_background
from pipeline.simulation.kit import Simulation
from pipeline.simulation.recipe import to_json as goal_to_json
from pipeline.simulation.run_record import RunRecord
from pipeline.solving import save_model
from pipeline.store import write_json

PACKAGE = "grs_env"
ROOT = Path(__file__).resolve().parents[3]
"""Folder that holds the package pipeline."""
OWN = "pipeline.export.gym_env"
MIN_LIMIT, LIMIT_FACTOR = 300, 3
"""Steps after which an episode is truncated, and the same over the steps of the longest demonstration."""
SETTLED_STEPS = 12
"""Control steps appended to a demonstration, so that everything comes to rest: 0.4 s."""


@describes(
    ExportFormat(
        "Gymnasium environment",
        "the task as grs_env.make(), the layouts of the solved seeds, and demonstrations",
        "layouts of other seeds; the force limits of the vacuum arm",
        ".zip",
        needs_solution=True,
    )
)
def export_gymnasium(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write the environment to a folder, or to a zip if the name ends in .zip; return what was left out.

    Every solved seed is rolled out again. Raises ExportError if none is solved, SandboxError.
    """
    with export_folder(project_dir, out, "gymnasium") as folder:
        left_out = write_environment_package(project_dir, folder, "gymnasium")
        name = Project.open(project_dir).name
        (folder / "README.md").write_text(README.format(title=name, mujoco=mujoco.__version__), "utf-8")
    return left_out


def write_environment_package(project_dir: Path, folder: Path, file_format: str) -> tuple[str, ...]:
    """Write all but the README to an empty folder, export.json for this format included; return what was left out.

    Raises ExportError if no seed is solved, SandboxError.
    """
    require_scene(project_dir)
    robot, rollouts = solved_rollouts(Project.open(project_dir))
    copy_meshes(project_dir, folder)
    (folder / "layouts").mkdir()
    for name, text in package_sources():
        path = folder / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "task.json").write_bytes((project_dir / "task.json").read_bytes())
    left_out = [line for one in rollouts if (line := _write_layout(one, folder))]
    lengths = [len(np.load(file, mmap_mode="r")) for file in (folder / "layouts").glob("*.npy")]
    limit = max([MIN_LIMIT, *(LIMIT_FACTOR * length for length in lengths)])
    write_json(folder / "layouts.json", {"seeds": [one.seed for one in rollouts], "robot": robot, "max_steps": limit})
    (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
    write_marker(folder, project_dir, file_format, left_out)
    return tuple(left_out)


def _write_layout(rollout: SolvedRollout, folder: Path) -> str:
    """Write the model, the goals and the demonstration of a seed; return why it has no demonstration."""
    record = rollout.record
    write_layout(rollout.simulation, record.xml, record.qpos[0], record.actions[0], folder)
    actions, share = demonstrate(TwinWorld(folder, rollout.seed), record)
    if share < 1:
        return f"seed {rollout.seed}: the oracle's actions, replayed at 31 Hz, do not solve it; no demonstration"
    np.save(folder / "layouts" / f"{rollout.seed:03d}.npy", actions)
    return ""


def write_layout(simulation: Simulation, xml: str, qpos: np.ndarray, ctrl: np.ndarray, folder: Path) -> None:
    """Write the model and the goals of a layout, as `TwinWorld` reads them.

    Args:
        simulation: the layout and its goals.
        xml: its model with the robot.
        qpos: the model's start, of shape (nq,).
        ctrl: commands of the robot at the start, of shape (nu,).
        folder: of the environment; holds scene/ with the meshes, and layouts/.
    """
    keep_background(save_model(xml, folder, f"layout_{simulation.seed:03d}"))
    world = simulation.bench()
    write_json(
        folder / "layouts" / f"{simulation.seed:03d}.json",
        {
            "objects": [to_json(o) for o in world.objects.values()],
            "zones": [to_json(zone) for zone in world.zones.values()],
            "stages": [[name, [goal_to_json(goal) for goal in goals]] for name, goals in simulation.stages],
            "table": world.table.polygon.tolist(), "right": world.right.tolist(), "away": world.away.tolist(),
            "home": world.home.tolist(), "qpos": qpos.tolist(), "ctrl": ctrl.tolist(),
        },
    )  # fmt: skip


def demonstrate(world: TwinWorld, record: RunRecord) -> tuple[np.ndarray, float]:
    """Replay recorded commands; return the normalised actions (T, nu), and the share of the goals met at the end."""
    actions = []
    share = 0.0
    for command in [*record.actions[1:], *[record.actions[-1]] * SETTLED_STEPS]:
        action = world.action(command)
        actions.append(action)
        world.step(action)
        share = world.share(world.measure())
    return np.array(actions), share if world.is_at_rest() else 0.0


# ---------------------------------------------------------------------- the code of the export


@functools.cache
def package_sources() -> tuple[tuple[str, str], ...]:
    """Return name and text of every file of the exported package, in order of the names."""
    modules = _needed_modules(f"{OWN}.dataset_env")
    files = {_file_of(module): _exported_source(path) for module, path in modules.items()}
    files["__init__.py"] = INIT
    return tuple(sorted(files.items()))


def _needed_modules(root: str) -> dict[str, Path]:
    """Return all modules of this project that a module imports, directly or through others, with their files."""
    todo, found = [root, *_goal_modules()], {}
    while todo:
        module = todo.pop()
        path = _path(module)
        if module in found or path is None:
            continue
        if module not in ("pipeline.export", OWN):  # the packages of the exporter itself are not exported
            found[module] = path
            todo += [name for name in _imports(path) if name.startswith("pipeline.")]
        todo += [module.rpartition(".")[0]] if "." in module else []
    return found


def _goal_modules() -> list[str]:
    """Return every kind of goal: they are found at run time, so nothing imports them."""
    folder = ROOT / "pipeline" / "simulation" / "goals"
    return [f"pipeline.simulation.goals.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"]


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None)


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports when it runs, without those for type checking only."""
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo += node.orelse
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            todo += ast.iter_child_nodes(node)


def _file_of(module: str) -> str:
    """Return the place of a module in the exported package."""
    path = _path(module)
    inner = module.removeprefix(f"{OWN}.").replace(".", "/")
    return f"{inner}/__init__.py" if path and path.name == "__init__.py" else f"{inner}.py"


def _exported_source(path: Path) -> str:
    """Return a file's text with its imports pointing into the exported package."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf"^(\s*)from {re.escape(OWN)}", rf"\1from {PACKAGE}", text, flags=re.M)
    return re.sub(r"^(\s*)(from|import) pipeline\b", rf"\1\2 {PACKAGE}.pipeline", text, flags=re.M)


INIT = '''"""One task on one twin as a Gymnasium environment. Needs mujoco, numpy, scipy and gymnasium."""

import gymnasium

from grs_env.dataset_env import DatasetEnv
from grs_env.environment import Demonstration, TwinEnv, demonstration, make, make_vec

__all__ = ["DatasetEnv", "Demonstration", "TwinEnv", "demonstration", "make", "make_vec"]

gymnasium.register("GRS/Twin-v0", entry_point="grs_env.environment:TwinEnv")
'''

README = """# {title} as a Gymnasium environment

    pip install "mujoco>={mujoco}" numpy scipy gymnasium

    import grs_env
    env = grs_env.make(images=False, render_mode="rgb_array")
    observation, info = env.reset(seed=0)
    print(grs_env.demonstration(0).success)
    eight = grs_env.make_vec(8)                 # each in a process of its own; make_vec(8, "sync"): in this one

Run Python in this folder, or put it on PYTHONPATH. `grs_env/environment.py` describes observation, action, reward and
success; `layouts.json` lists the seeds; `export.json` says what was left out. `grs_env/pipeline/` holds the modules of
GRS Studio (MIT licence) that measure the goals. LICENCES.md lists the licences of the objects.
"""
