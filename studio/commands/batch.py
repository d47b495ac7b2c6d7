"""`grs-studio batch`: many frames, each to its own project folder, in processes of their own."""

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.simulation.robots import ROBOTS
from studio.commands.options import DONE, add_library, add_model, add_segmenter, add_unprotected
from studio.commands.run import STAGES

if TYPE_CHECKING:
    from studio.batch.batch_file import BatchFile


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("frames", type=Path, nargs="+", help="frames; a folder of frames counts as its frames")
    command.add_argument("--out", type=Path, required=True, help="folder of the projects, to create or to continue")
    command.add_argument("--jobs", type=int, help="frames at the same time (default 1; with --ray, a frame a core)")
    command.add_argument("--until", default="solution", choices=STAGES, help="last stage to run (default %(default)s)")
    command.add_argument("--task", help="the task in plain words (default: the first proposed task of each)")
    command.add_argument("--seed", type=int, default=0, help="first of the seeds to solve (default %(default)s)")
    command.add_argument("--timeout", type=float, default=1800.0, help="seconds for one frame (default %(default)g)")
    command.add_argument("--memory", type=float, default=8.0, help="GB of memory for one frame (default %(default)g)")
    command.add_argument("--robot", choices=tuple(ROBOTS), help="robot that performs the tasks (default gripper)")
    command.add_argument("--matcher", choices=tuple(plugins.entries("matchers")), help="what chooses the assets")
    command.add_argument("--ray", metavar="ADDRESS", help="Ray cluster to run on, HOST:PORT or auto (docs/projects.md)")
    add_model(command)
    add_segmenter(command)
    add_library(command)
    add_unprotected(command)
    command.set_defaults(execute=batch)


def batch(arguments: argparse.Namespace) -> int:
    from studio.batch.frame_process import Bounds, FrameProcess
    from studio.batch.ray_cluster import RayCluster
    from studio.batch.runner import BatchRunner

    jobs: int | None = arguments.jobs
    if (jobs is not None and jobs < 1) or arguments.timeout <= 0 or arguments.memory <= 0:
        raise StudioError("--jobs, --timeout and --memory take numbers above 0")
    ceiling, options = _ceiling(), run_options(arguments)
    bounds = Bounds(arguments.timeout, arguments.memory)
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(contextlib.closing(RayCluster(arguments.ray))) if arguments.ray else None
        make = cluster.make if cluster else FrameProcess
        record = _open(arguments)
        BatchRunner(record, options, bounds, _print, make=make).run(jobs or (cluster.cores if cluster else 1), ceiling)
    return _summary(record)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _open(arguments: argparse.Namespace) -> "BatchFile":
    """Return the record of the batch: that of an earlier run, with the frames that are new."""
    from studio.batch.batch_file import FILE, BatchFile, BatchItem, read_batch
    from studio.batch.frames import BatchError, find_frames, project_names

    out: Path = arguments.out
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / FILE).is_file()):
        raise BatchError(f"{out} holds other files; choose a new folder for the batch")
    frames, earlier = find_frames(arguments.frames), read_batch(out)
    settings = {"options": run_options(arguments)}
    kept = {item.frame: item for item in earlier.items} if earlier else {}
    if earlier and earlier.settings != settings:
        print("the settings have changed: every frame is looked at again", file=sys.stderr)
        kept = {frame: BatchItem(item.frame, item.project, seconds=item.seconds) for frame, item in kept.items()}
    names = project_names(frames, {frame: item.project for frame, item in kept.items()})
    items = kept | {str(f): kept.get(str(f), BatchItem(str(f), name)) for f, name in names.items()}
    out.mkdir(parents=True, exist_ok=True)
    record = BatchFile(out, settings, list(items.values()))
    record.write()
    return record


def run_options(arguments: argparse.Namespace) -> list[str]:
    """Return the options that every frame's `grs-studio run` gets."""
    values: dict[str, Any] = {name: getattr(arguments, name) for name in ("until", "seed", "segmenter")}
    values |= {name: getattr(arguments, name) for name in ("task", "model", "robot", "matcher")}
    options = [f"--{name}={value}" for name, value in values.items() if value is not None]
    options += [f"--library={path.absolute()}" for path in arguments.library]
    return options + (["--unprotected"] if arguments.unprotected else [])


def _ceiling() -> float | None:
    """Return GRS_CEILING_USD, which holds for the whole batch. Raises StudioError."""
    text = os.environ.get("GRS_CEILING_USD", "")
    try:
        return float(text) if text else None
    except ValueError:
        raise StudioError(f"GRS_CEILING_USD is '{text}'; it takes an amount in USD, as in GRS_CEILING_USD=2") from None


def _summary(record: "BatchFile") -> int:
    from studio.batch.frames import BatchError

    failed = [item for item in record.items if item.state == "failed"]
    if failed and len(failed) == len(record.items):
        raise BatchError(f"no frame could be done; {Path(failed[0].frame).name}: {failed[0].message}")
    for item in failed:
        print(f"failed: {item.frame}: {item.message}", file=sys.stderr)
    done = sum(item.state == "done" for item in record.items)
    print(f"{done} of {len(record.items)} done in {record.folder}", file=sys.stderr)
    return DONE
