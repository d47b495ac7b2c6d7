"""The command line: the studio itself, and the same work without a browser."""

import argparse
import contextlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipeline.errors import StudioError
from studio import evaluate_command, library_commands

if TYPE_CHECKING:
    from pipeline.run import Services

DONE, OUR_FAULT, BAD_INPUT = 0, 1, 2


class Arguments(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; exit code 0 done, 2 bad input, 1 our fault."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    arguments = parser().parse_args(argv)
    try:
        return arguments.work(arguments)
    except StudioError as error:
        return _say(" ".join(str(error).split()), BAD_INPUT)
    except KeyboardInterrupt:
        return _say("stopped; what was finished is kept", OUR_FAULT)
    except BrokenPipeError:
        return OUR_FAULT
    except Exception as error:
        if os.environ.get("GRS_DEBUG"):
            traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return _say(f"our fault: {type(error).__name__}: {error} ({where}; set GRS_DEBUG=1 for all of it)", OUR_FAULT)


def _say(line: str, code: int) -> int:
    print(f"grs-studio: {line}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    top = Arguments(prog="grs-studio", description="From one RGB-D frame to a MuJoCo twin, a task, and a solution.")
    top.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    top.add_argument("--port", type=int, default=7860, help="port to listen on (default %(default)s)")
    top.add_argument("--workspace", type=Path, help="folder of projects (default GRS_WORKSPACE, else ./workspace)")
    top.add_argument("--auth", metavar="USER:PASS", help="ask for this login")
    top.set_defaults(work=serve)
    commands = top.add_subparsers(title="without a browser", parser_class=Arguments)

    run_ = commands.add_parser("run", help="from a frame as far as wanted")
    run_.add_argument("frame", type=Path)
    run_.add_argument("--out", type=Path, required=True, help="project folder to make, or to go on with")
    run_.add_argument("--index", type=int, default=0, help="which frame of a recording (default the first)")
    run_.add_argument("--until", default="solution", choices=STAGES)
    run_.add_argument("--model", default=None, help="offline, openai, or replay:TRACE (default offline)")
    run_.add_argument("--segmenter", default="depth", choices=("depth", "sam2"))
    run_.add_argument("--library", type=Path, action="append", default=[], help="searched instead of the default")
    run_.add_argument("--robot", default=None, choices=("gripper", "arm"), help="who does it (default gripper, quick)")
    run_.add_argument(
        "--matcher", choices=evaluate_command.MATCHERS, help="all evidence (default), the encoder alone, or a model"
    )
    run_.add_argument("--task", help="what the robot shall do, in plain words; else the first proposed task")
    run_.add_argument("--seed", type=int, default=0, help="first of the starting layouts tried (default 0)")
    run_.set_defaults(work=run)

    segment_ = commands.add_parser("segment", help="masks from clicks and boxes in a file")
    segment_.add_argument("frame", type=Path)
    segment_.add_argument("--prompts", type=Path, required=True)
    segment_.add_argument("--out", type=Path, required=True)
    segment_.add_argument("--segmenter", default="depth", choices=("depth", "sam2"))
    segment_.set_defaults(work=segment)

    check_ = commands.add_parser("check", help="run simulation.py and checks.py in the sandbox; report as JSON")
    check_.add_argument("program", type=Path)
    check_.add_argument("--scene", type=Path, required=True, help="project folder that holds the twin")
    check_.set_defaults(work=check)

    ablation_ = commands.add_parser("ablation", help="what the router is worth: every mode on every proposed task")
    ablation_.add_argument("scenes", type=Path, nargs="+", help="frames, or project folders that hold a twin")
    ablation_.add_argument("--out", type=Path, required=True, help="folder for the table, the plot and new projects")
    ablation_.add_argument("--tasks", type=int, default=8, help="of each scene, at most (default %(default)s)")
    ablation_.add_argument(
        "--modes", nargs="+", default=["none", "repair", "route"], choices=("none", "repair", "route")
    )
    ablation_.add_argument("--model", default=None, help="offline, openai, or replay:TRACE (default offline)")
    ablation_.set_defaults(work=ablation)
    library_commands.add_to(commands)
    evaluate_command.add_to(commands)
    return top


STAGES = ("frame", "segments", "descriptions", "matches", "scene", "task", "rounds", "solution")


def serve(arguments: argparse.Namespace) -> int:
    from studio.serve import serve
    from studio.services import Settings

    auth = None
    if arguments.auth is not None:
        user, colon, password = arguments.auth.partition(":")
        if not (user and colon and password):
            raise StudioError("--auth takes USER:PASS, as in --auth ada:secret")
        auth = (user, password)
    settings = Settings.from_environment(workspace=arguments.workspace, model=_model_setting(None, "kept"))
    serve(settings, arguments.host, arguments.port, auth)
    return DONE


def run(arguments: argparse.Namespace) -> int:
    from pipeline.frame import load
    from pipeline.matching import unavailable
    from pipeline.project import Project
    from pipeline.run import advance
    from studio.services import Settings, open_services

    out: Path = arguments.out
    again = (out / "project.json").exists()
    frame = None if again else load(arguments.frame, arguments.index)
    settings = Settings.from_environment(
        model=_model_setting(arguments.model),
        segmenter=arguments.segmenter,
        library=tuple(arguments.library),
        matcher=arguments.matcher,
        robot=arguments.robot,
    )
    services = open_services(settings, first_seed=arguments.seed)
    if why := unavailable(services.matcher, services.model, services.encoder):
        services.sandbox.close()
        raise StudioError(f"the matcher {services.matcher} {why}")
    project = Project.open(out) if frame is None else Project.create(out, frame)
    if again:
        print(f"going on with the project in {out}", file=sys.stderr)
    for note in project.frame.notes:
        print(f"frame: {note}", file=sys.stderr)
    for path, reason in services.library.skipped:
        print(f"library: {path} skipped: {reason}", file=sys.stderr)
    stage, line = "frame", ""
    try:
        with contextlib.closing(services.sandbox):
            for step in advance(project, services, arguments.until, arguments.task):
                stage, before, line = step.stage, line, f"{step.stage}: {step.message}"
                if line != before:  # else only farther with the same
                    print(line, file=sys.stderr)
    except StudioError as error:
        raise StudioError(f"stopped at {stage}: {error}") from error
    return DONE


def segment(arguments: argparse.Namespace) -> int:
    from pipeline.frame import load
    from pipeline.segmentation import Segment
    from pipeline.segmentation.files import read_prompts, write_segments
    from studio.services import Settings, open_segmenter

    frame = load(arguments.frame)
    prompts = read_prompts(arguments.prompts, frame)
    view = open_segmenter(Settings.from_environment(segmenter=arguments.segmenter)).open(frame)
    best = {i: view.segment(prompt)[0] for i, prompt in prompts.items()}
    segments = [Segment(i, s.mask, s.score, s.source) for i, s in best.items()]
    write_segments(segments, frame.depth.shape, arguments.out / "segments")
    return DONE


def check(arguments: argparse.Namespace) -> int:
    from pipeline.project import Project
    from pipeline.router import check_program, report_json
    from pipeline.simulation.program import read_program
    from pipeline.simulation.sandbox import Sandbox

    program = read_program(arguments.program)
    project = Project.open(arguments.scene)
    if project.scene() is None:
        raise StudioError(
            f"{arguments.scene} has no scene yet; run grs-studio run FRAME --out {arguments.scene} --until scene"
        )
    program = project.in_present_program(program)
    with Sandbox() as sandbox:
        print(json.dumps(report_json(check_program(program, project.folder, sandbox)), indent=1, ensure_ascii=False))
    return DONE


def ablation(arguments: argparse.Namespace) -> int:
    from pipeline.evaluation import ablate, write_ablation
    from pipeline.evaluation.ablation import markdown
    from studio.services import Settings, open_services

    services = open_services(Settings.from_environment(model=_model_setting(arguments.model)))
    with contextlib.closing(services.sandbox):
        scenes = [_twin(path, arguments.out / "projects", services) for path in arguments.scenes]
        trials = []
        for one in ablate(scenes, services.model, services.sandbox, arguments.modes, arguments.tasks):
            trials.append(one)
            said = "crashed" if one.crashed else f"reward {one.reward:.2f}"
            print(f"{one.scene}: {one.task}, {one.mode}: {said}: {one.why}", file=sys.stderr)
    print(markdown(write_ablation(trials, arguments.out, services.model.name)), end="")
    return DONE


def _twin(path: Path, projects: Path, services: "Services") -> Path:
    """The project folder that a path names, or one made of the frame there, worked out up to its twin."""
    from pipeline.frame import load
    from pipeline.project import Project
    from pipeline.run import advance

    if (path / "scene.json").is_file():
        return path
    kept = path if (path / "project.json").is_file() else projects / path.resolve().stem
    project = Project.open(kept) if (kept / "project.json").is_file() else Project.create(kept, load(path))
    for step in advance(project, services, "scene"):
        print(f"{kept.name}: {step.stage}: {step.message}", file=sys.stderr)
    return kept


def _model_setting(flag: str | None, kept: str = "offline") -> str:
    """--model offline|openai|replay:TRACE; without the flag what GRS_MODEL says, a model's own name meaning openai."""
    told = os.environ.get("GRS_MODEL", "")
    usual = (told if told == "offline" or told.startswith("replay:") else "openai") if told else kept
    if flag and flag not in ("offline", "openai") and not flag.startswith("replay:"):
        raise StudioError(f"--model {flag} is not known; it takes offline, openai, or replay:TRACE")
    return flag or usual


if __name__ == "__main__":
    sys.exit(main())
