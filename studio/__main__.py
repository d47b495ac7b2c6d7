"""The command line: parses the arguments, runs one command, turns errors into one line and an exit code."""

import argparse
import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from pipeline.errors import StudioError
from pipeline.models.secret_environment import hide_secrets
from pipeline.store import storage_error, use_private_folder
from studio.commands import (
    ablation,
    acceptance,
    align,
    batch,
    calibrate,
    check,
    demo,
    evaluate,
    export,
    learn,
    library,
    project_set,
    repair,
    report,
    robot,
    run,
    segment,
    serve,
    sync,
    tasks,
    user,
    vary,
)
from studio.commands.options import BAD_INPUT, OUR_FAULT
from studio.commands.robot_episodes import compare, episode, evaluate_policy, replay_actions, serve_policy

COMMANDS = (
    demo,
    run,
    batch,
    report,
    project_set,
    segment,
    check,
    repair,
    compare,
    align,
    calibrate,
    vary,
    learn,
    tasks,
    replay_actions,
    episode,
    export,
    sync,
    acceptance,
    ablation,
    library,
    robot,
    user,
    evaluate,
    evaluate_policy,
    serve_policy,
)


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
    arguments = parser().parse_args(argv)
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


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets `execute`, a function from arguments to an exit code."""
    top = OneLineParser(prog="grs-studio", description="From one RGB-D frame to a MuJoCo twin, a task, and a solution.")
    serve.add_to(top)
    commands = top.add_subparsers(title="without a browser", parser_class=OneLineParser)
    for command in COMMANDS:
        command.add_to(commands)
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
