"""`grs-studio serve-policy`: answer a real robot's client with what was learned here, by its protocol."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import DONE, add_unprotected, require_packages

if TYPE_CHECKING:
    from pipeline.closed_loop.serving import Play
    from pipeline.simulation.sandbox.sandbox import Sandbox

PROTOCOLS = ("openpi", "groot", "lerobot", "vla-eval", "http")


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument(
        "project",
        type=Path,
        metavar="PROJECT|EXPORT",
        help="solved project, or its export in format gymnasium, unpacked",
    )
    command.add_argument(
        "--policy", required=True, metavar="POLICY", help="demonstration, hold, learned, or FILE.py:FUNCTION"
    )
    command.add_argument("--protocol", required=True, choices=PROTOCOLS, help="what the robot's client speaks")
    command.add_argument("--port", type=int, required=True, help="0 takes a free one")
    command.add_argument(
        "--host", default="127.0.0.1", help="0.0.0.0 for clients of other machines (default %(default)s)"
    )
    command.add_argument(
        "--interface",
        default="",
        metavar="NAME|FILE.toml",
        help="what the client sends and expects (default: the protocol's own; docs/policies.md)",
    )
    add_unprotected(command)
    command.set_defaults(execute=serve_policy)


def serve_policy(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C. Raises PolicyError, InterfaceError."""
    require_packages("gymnasium", "gymnasium")
    from pipeline.closed_loop import PolicyError
    from pipeline.closed_loop.evaluation import environment_of
    from pipeline.closed_loop.interfaces import read_interface
    from pipeline.closed_loop.protocols.address import INTERFACES
    from pipeline.closed_loop.protocols.clients import open_server
    from pipeline.closed_loop.serving import ServedPolicy
    from pipeline.simulation.sandbox.sandbox import Sandbox

    interface = read_interface(arguments.interface or INTERFACES.get(arguments.protocol, "lerobot"))
    with tempfile.TemporaryDirectory() as folder, Sandbox(arguments.unprotected) as sandbox:
        environment = environment_of(arguments.project, Path(folder))
        play = _play(arguments, environment, sandbox)
        ServedPolicy(environment, interface, play).close()  # what does not fit is found before a client comes
        make = lambda: ServedPolicy(environment, interface, play)  # noqa: E731
        try:
            server = open_server(arguments.protocol, make, arguments.host, arguments.port)
        except (OSError, RuntimeError) as error:
            raise PolicyError(f"port {arguments.port} of {arguments.host} cannot be had: {error}") from None
        place = f"{arguments.protocol}://{arguments.host}:{server.port}"
        print(f"{arguments.policy} is served at {place}, interface {interface.name}; Ctrl-C ends", flush=True)
        try:
            server.run()
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)
    return DONE


def _play(arguments: argparse.Namespace, environment: Path, sandbox: "Sandbox") -> "Play":
    """Return what is served. Raises PolicyError, LearningError."""
    from pipeline.closed_loop.policies import DEMONSTRATION, HOLD, LEARNED, function_of, open_policy
    from pipeline.closed_loop.policy import PolicyError
    from pipeline.closed_loop.serving import recorded_motion
    from pipeline.export.gym_env.environment import TwinEnv

    if arguments.policy == DEMONSTRATION:
        return recorded_motion
    if arguments.policy == LEARNED:
        require_packages("learn", "stable_baselines3")
        from pipeline.closed_loop.learned import learned_motions

        return learned_motions(arguments.project, sandbox)
    if arguments.policy == HOLD or function_of(arguments.policy):
        return open_policy(arguments.policy, TwinEnv(folder=environment))
    raise PolicyError(f"{arguments.policy} cannot be served; choose demonstration, hold, learned, or FILE.py:FUNCTION")
