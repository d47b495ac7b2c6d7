"""`grs-studio user add|list|remove`: the people who can log in to the studio."""

import argparse
import getpass
import sys
from pathlib import Path

from pipeline.errors import StudioError
from studio.accounts.roles import ROLES
from studio.accounts.user_file import UserFile, users_path
from studio.commands.options import DONE


def add_to(user: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    verbs = user.add_subparsers(title="what to do", parser_class=type(user), required=True)

    add = verbs.add_parser("add", help="add a user; asks for the password twice, or reads a line of standard input")
    add.add_argument("name", help="letters, digits, and . _ @ - within the name")
    add.add_argument(
        "--role",
        choices=ROLES,
        default="work",
        help="look: see everything; work: change projects; administer: also the model, its key and prompts, and "
        "installed packages (default %(default)s)",
    )
    add.add_argument("--replace", action="store_true", help="give a user a new password and role")
    add.set_defaults(execute=add_user)

    listed = verbs.add_parser("list", help="list all users with their roles")
    listed.set_defaults(execute=list_users)

    remove = verbs.add_parser("remove", help="remove a user; a running studio logs them out at once")
    remove.add_argument("name")
    remove.set_defaults(execute=remove_user)

    for verb in (add, listed, remove):
        verb.add_argument(
            "--users",
            type=Path,
            metavar="FILE",
            help="file of users (default GRS_USERS, else .users.json of the workspace)",
        )
        verb.add_argument("--workspace", type=Path, help="workspace of that file (default GRS_WORKSPACE)")


def add_user(arguments: argparse.Namespace) -> int:
    """Add a user, or replace the password and role of one."""
    users = _user_file(arguments)
    known = users.users()
    if arguments.name in known and not arguments.replace:  # before a person types a password
        raise StudioError(f'there is a user "{arguments.name}"; --replace sets a new password and role')
    users.add(arguments.name, arguments.role, _read_password(), arguments.replace)
    print(f"{arguments.name} can log in with the role {arguments.role} ({users.path})")
    if not any(user.role.title == "administer" for user in users.users().values()):
        print("grs-studio: no user has the role administer yet; only that role can change the model", file=sys.stderr)
    return DONE


def list_users(arguments: argparse.Namespace) -> int:
    """Print a line for each user."""
    for user in sorted(_user_file(arguments).users().values(), key=lambda one: one.name.lower()):
        print(f"{user.name}\t{user.role.title}")
    return DONE


def remove_user(arguments: argparse.Namespace) -> int:
    """Remove a user."""
    _user_file(arguments).remove(arguments.name)
    print(f"{arguments.name} can no longer log in")
    return DONE


def _user_file(arguments: argparse.Namespace) -> UserFile:
    from studio.services.settings import Settings

    return UserFile(users_path(arguments.users, Settings.from_environment(workspace=arguments.workspace).workspace))


def _read_password() -> str:
    """Return the password, which a person types twice without seeing it, or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise StudioError("the two passwords differ; nothing was changed")
    return password
