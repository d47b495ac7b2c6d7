"""Writes the exports for evaluation harnesses: the Gymnasium export with the files that its harness asks for."""

import shutil
from pathlib import Path

import mujoco

from pipeline.export.export_folder import export_folder
from pipeline.export.export_format import ExportFormat, describes
from pipeline.export.gym_env.package import write_environment_package
from pipeline.store import write_text

HARNESSES = Path(__file__).parent / "harnesses"
REQUIREMENTS = f'"mujoco>={mujoco.__version__}" numpy scipy gymnasium'
VLA_EVAL, LEROBOT = "vla-eval==0.8.0", "lerobot==0.4.4"
"""The versions that the exports were run with."""


@describes(
    ExportFormat(
        "vla-eval benchmark",
        "the task as a benchmark of vla-eval, for each of its model servers",
        "layouts of other seeds; the force limits of the vacuum arm",
        ".zip",
        needs_solution=True,
    )
)
def export_vla_eval(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write the benchmark, its configuration vla_eval.yaml and the environment to a folder, or a zip of it.

    Return what was left out. Raises ExportError if no seed is solved, SandboxError.
    """
    with export_folder(project_dir, out, "vla-eval") as folder:
        left_out = write_environment_package(project_dir, folder, "vla-eval")
        shutil.copyfile(HARNESSES / "grs_benchmark.py", folder / "grs_benchmark.py")
        episodes = len(list((folder / "layouts").glob("*.json")))
        write_text(folder / "vla_eval.yaml", CONFIGURATION.format(episodes=episodes))
        write_text(folder / "README.md", VLA_EVAL_README.format(vla_eval=VLA_EVAL, requirements=REQUIREMENTS))
    return left_out


@describes(
    ExportFormat(
        "LeRobot EnvHub",
        "the task as an environment of LeRobot, for lerobot-eval and make_env",
        "layouts of other seeds; the force limits of the vacuum arm",
        ".zip",
        needs_solution=True,
    )
)
def export_envhub(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write env.py with make_env, what lerobot-eval finds without the Hub, and the environment.

    Return what was left out. Raises ExportError if no seed is solved, SandboxError.
    """
    with export_folder(project_dir, out, "envhub") as folder:
        left_out = write_environment_package(project_dir, folder, "envhub")
        shutil.copyfile(HARNESSES / "env.py", folder / "env.py")
        (folder / "grs_lerobot").mkdir()
        shutil.copyfile(HARNESSES / "grs_lerobot.py", folder / "grs_lerobot" / "__init__.py")
        write_text(folder / "requirements.txt", "\n".join(REQUIREMENTS.replace('"', "").split()) + "\n")
        write_text(folder / "README.md", ENVHUB_README.format(lerobot=LEROBOT, requirements=REQUIREMENTS))
    return left_out


CONFIGURATION = """\
server:
  url: ws://localhost:8000
output_dir: ./results
benchmarks:
  - benchmark: grs_benchmark:TwinBenchmark
    mode: sync
    episodes_per_task: {episodes}    # one for each layout
    params:
      width: 320
      height: 240
"""

VLA_EVAL_README = """# A task on a twin, as a benchmark of vla-eval

    pip install {vla_eval} {requirements}
    vla-eval serve --config MODEL_SERVER.yaml           # in the environment of the policy
    PYTHONPATH=. vla-eval run --config vla_eval.yaml    # in this folder

`grs_benchmark.py` says what a model server gets and answers: the units and the rate of `grs-studio export --format
lerobot` of the same project. Pictures are drawn by EGL; `--render cpu` takes OSMesa, which the system must have.
"""

ENVHUB_README = """# A task on a twin, as an environment of LeRobot

    pip install {lerobot} {requirements}
    MUJOCO_GL=egl PYTHONPATH=. lerobot-eval --env.discover_packages_path=grs_lerobot --env.type=grs_twin \\
        --policy.path=CHECKPOINT --policy.device=cpu --eval.n_episodes=2 --eval.batch_size=1

Run this in the folder. Observations and actions are those of `grs-studio export --format lerobot` of the same project.
As a repository of the Hub, the folder works by `lerobot.envs.factory.make_env("USER/REPOSITORY",
trust_remote_code=True)`: `env.py` fetches the files beside it. `lerobot-eval` {lerobot} itself takes no repository.
"""
