"""`grs-studio robot add|list|check|remove`: robots of one's own, kept in the workspace."""

import argparse
import json
import re
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.simulation.robots import ROBOTS, robot_kind
from studio.commands.options import DONE


def add_to(robot: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    robot.set_defaults(execute=list_robots)
    verbs = robot.add_subparsers(title="what to do", parser_class=type(robot))
    add = verbs.add_parser("add", help="add a robot from its model: an arm with a two-finger gripper")
    add.add_argument("model", type=Path, metavar="MODEL", help="MJCF .xml or .urdf")
    add.add_argument("--name", help="name for --robot (default: that of the file)")
    add.add_argument("--tool", default="", metavar="SITE|BODY", help="of the gripper, where the model has several")
    add.add_argument(
        "--gripper",
        default="",
        metavar="ACTUATOR",
        help="actuator or joint that closes the gripper, where its name does not tell; or the gripper's own MJCF file",
    )
    add.add_argument("--pair", type=float, metavar="METRES", help="two of these arms side by side, so far apart")
    add.add_argument("--right", default="", metavar="NAME", help="the right arm of the pair: a robot that you added")
    add.add_argument("--facing", action="store_true", help="the arms of the pair face each other")
    add.add_argument("--replace", action="store_true", help="replace the robot of that name")
    add.set_defaults(execute=add_robot)
    verbs.add_parser("list", help="list all robots").set_defaults(execute=list_robots)
    check = verbs.add_parser("check", help="print as JSON what a robot reaches, opens and follows")
    check.add_argument("name", metavar="NAME")
    check.set_defaults(execute=check_robot)
    remove = verbs.add_parser("remove", help="remove a robot of your own")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(execute=remove_robot)


def add_robot(arguments: argparse.Namespace) -> int:
    """Read a model, keep the robot in the workspace, and print what `check` prints."""
    from pipeline.simulation.robots import workspace
    from pipeline.simulation.robots.reading.read_robot import read_robot

    name = arguments.name or re.sub(r"[^a-z0-9]+", "-", arguments.model.stem.lower()).strip("-")
    if not workspace.NAME.fullmatch(name):
        raise StudioError(f"--name {name} is not a name: it takes small letters, digits and hyphens, such as my-arm")
    if name in (*ROBOTS, "policy") and not (arguments.replace and name in workspace.added_names()):
        raise StudioError(f"there is a robot {name}; choose another with --name, or add --replace to one of your own")
    gripper = arguments.gripper
    if gripper.endswith((".xml", ".urdf")) and not Path(gripper).is_file():
        raise StudioError(f"--gripper {gripper} is not a file")
    for flag in ("facing", "right"):
        if getattr(arguments, flag) and arguments.pair is None:
            raise StudioError(f"--{flag} takes two arms; say how far apart they stand with --pair METRES")
    places = None if arguments.pair is None else workspace.pair_places(name, arguments.pair, arguments.facing)
    if arguments.right:
        workspace.read_right_arm(arguments.right)
    stored, xml, meshes = read_robot(arguments.model, name, arguments.tool, gripper)
    stored = stored.model_copy(update={"pair": places, "right": arguments.right})
    workspace.write_added(stored, xml, meshes, arguments.replace)
    return _print_check(name, stored.repairs)


def list_robots(arguments: argparse.Namespace) -> int:
    """Print the name of each robot, and where it comes from."""
    for name in ROBOTS:
        try:
            robot = robot_kind(name)
            print(f"{name:20} {robot.title}; {robot.note}")
        except StudioError as error:
            print(f"{name:20} {error}")
    return DONE


def check_robot(arguments: argparse.Namespace) -> int:
    """Print the measurements of a robot."""
    return _print_check(arguments.name, ())


def remove_robot(arguments: argparse.Namespace) -> int:
    """Delete a robot from the workspace."""
    from pipeline.simulation.robots import workspace

    workspace.remove_added(arguments.name)
    return DONE


def _print_check(name: str, repairs: tuple[str, ...]) -> int:
    """Print the measurements of a robot as JSON. Raises StudioError for one that floats."""
    from pipeline.simulation.robots.reading.robot_check import check

    robot = robot_kind(name)
    if robot.floats:
        raise StudioError(f"{name} floats and reaches everything; check takes an arm")
    print(json.dumps(check(robot) | {"repairs": list(repairs)}, indent=2))
    return DONE
