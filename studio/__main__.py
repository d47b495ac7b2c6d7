"""The command line: parses the arguments, runs one command, turns errors into one line and an exit code."""

import argparse
import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from pipeline.errors import StudioError
from pipeline.secret_environment import hide_secrets
from pipeline.store import storage_error, use_private_folder
from studio.commands import serve
from studio.commands.options import BAD_INPUT, OUR_FAULT

COMMANDS = {
    "demo": ("demo", "a guided demo in the browser: from photograph to solved task"),
    "run": ("run", "from a frame to a solution, or to an earlier stage"),
    "batch": ("batch", "many frames, each to a project folder of its own"),
    "report": ("report", "a batch as one HTML file that opens without a network"),
    "set": ("project_set", "sets of accepted projects with a train and a test split"),
    "segment": ("segment", "masks from clicks and boxes in a file"),
    "check": ("check", "run simulation.py and checks.py in the sandbox; report as JSON"),
    "repair": ("repair", "run and repair a program until its checks pass; outcome as JSON"),
    "compare": ("robot_episodes.compare", "measure how far a simulated episode diverges from a real one"),
    "track": ("track", "follow the twin's objects through a recording"),
    "splats": ("splats", "draw the background or an object by Gaussian splats"),
    "align": ("align", "find the camera's pose from clicks, and the robot's base"),
    "calibrate": ("calibrate", "estimate damping, friction, gains and masses from episodes"),
    "vary": ("vary", "run a task under varied conditions and find what success depends on"),
    "learn": ("learn", "learn policies for the subtasks of a task by reinforcement"),
    "tasks": ("tasks", "generate many tasks for a twin and keep those worth having"),
    "replay-actions": ("robot_episodes.replay_actions", "drive the twin's robot with the actions of an episode"),
    "episode": ("robot_episodes.episode", "write a solution, a round or another episode as .csv, .npz or LeRobot"),
    "export": ("export", "write a project in another format"),
    "sync": ("sync", "copy projects to and from an object store, whichever is newer"),
    "acceptance": ("acceptance", "one report of what a model is worth: masks, matches, programs"),
    "ablation": ("ablation", "every router mode on every proposed task of some scenes"),
    "library": ("library", "assets of your own, and packs"),
    "robot": ("robot", "robots of your own: add, list, check, remove"),
    "user": ("user", "people who can log in to the studio, and their roles"),
    "evaluate": ("evaluate", "how well objects are matched to assets, against labels"),
    "evaluate-policy": (
        "robot_episodes.evaluate_policy",
        "let policies control the robot, and compare them",
    ),
    "serve-policy": ("robot_episodes.serve_policy", "serve what was learned here to the client of a real robot"),
}
"""Module below studio.commands and description of each command."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 bad input, 1 our fault."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    if argv is None:  # the process is ours
        hide_secrets()
        _clean_up_on_signals()
        use_private_folder()
    words = sys.argv[1:] if argv is None else argv
    arguments = parser(words).parse_args(words)
    try:
        return arguments.execute(with_absolute_paths(arguments))
    except StudioError as error:
        return _fail(" ".join(str(error).split()), BAD_INPUT)
    except KeyboardInterrupt:
        return _fail("stopped; finished stages are saved", OUR_FAULT)
    except BrokenPipeError:
        return OUR_FAULT
    except Exception as error:
        if told := storage_error(error) or _name_error(error):
            return _fail(str(told), BAD_INPUT)
        if os.environ.get("GRS_DEBUG"):
            traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return _fail(f"internal error: {type(error).__name__}: {error} ({where}; GRS_DEBUG=1 shows more)", OUR_FAULT)


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser; each command sets `execute`, a function from arguments to an exit code.

    Args:
        words: to be parsed; only commands that are named among them get their options, for all take long to import.
    """
    top = OneLineParser(prog="grs-studio", description="From one RGB-D frame to a MuJoCo twin, a task, and a solution.")
    serve.add_to(top)
    commands = top.add_subparsers(title="without a browser", parser_class=OneLineParser)
    for name, (module, description) in COMMANDS.items():
        command = commands.add_parser(name, help=description)
        if words is None or name in words:
            import_module(f"studio.commands.{module}").add_to(command)
    return top


def with_absolute_paths(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments with absolute paths, for the processes that open files work in another folder.

    Links stay: a file is called what its link is called.
    """

    def absolute(value: object) -> object:
        if isinstance(value, list):
            return [absolute(one) for one in value]
        return value.absolute() if isinstance(value, Path) else value

    return argparse.Namespace(**{name: absolute(value) for name, value in vars(arguments).items()})


def _name_error(error: Exception) -> str:
    """Return one line if a name that was given cannot name a file here, "" for any other error."""
    if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        name = Path(str(error.filename)).name
        return f"{name[:60]}{'…' if len(name) > 60 else ''} cannot be used: {error.strerror}; choose a shorter path"
    if isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
        path = Path(str(error.filename))
        file = next((one for one in (path, *path.parents) if one.is_file()), None)
        return f"{file} is a file, so nothing can be written below it; choose another place" if file else ""
    if isinstance(error, UnicodeEncodeError):
        return f"a name has letters that this system's {error.encoding} cannot write; set PYTHONUTF8=1 and try again"
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "a name holds a null byte; choose another"
    return ""


def _clean_up_on_signals() -> None:
    """End by an exception when asked to end, so that temporary files are removed and children are stopped."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows lacks one
            signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))


def _fail(line: str, code: int) -> int:
    print(f"grs-studio: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
