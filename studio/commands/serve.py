"""`grs-studio`: open the studio in the browser."""

import argparse
import os
from pathlib import Path

from pipeline.errors import StudioError
from studio.accounts.user_file import UserFile, users_path
from studio.commands.options import DONE, model_setting
from studio.web.access import Access, hostname, read_logins


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of the studio itself to the top-level parser."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="port to listen on (default %(default)s)")
    parser.add_argument("--workspace", type=Path, help="folder of projects (default GRS_WORKSPACE, else ./workspace)")
    parser.add_argument("--auth", metavar="USER:PASS", help="require this login; others on this machine can see it")
    parser.add_argument(
        "--auth-file", type=Path, metavar="FILE", help="require a login: USER:PASS a line (or GRS_AUTH)"
    )
    parser.add_argument(
        "--users",
        type=Path,
        metavar="FILE",
        help="users of `grs-studio user add` (default GRS_USERS, else .users.json of the workspace, if there is one)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="name, or NAME:PORT, under which a reverse proxy publishes the studio; repeatable (or GRS_ALLOW_HOST)",
    )
    parser.add_argument(
        "--root-path",
        metavar="PATH",
        help="path under which a reverse proxy publishes the studio, as in /grs (or GRS_ROOT_PATH)",
    )
    parser.add_argument(
        "--workspaces",
        choices=("shared", "own"),
        default="shared",
        help="whether all users share the workspace, or each has their own in WORKSPACE/users (default %(default)s)",
    )
    parser.set_defaults(execute=serve)


def serve(arguments: argparse.Namespace, page: str = "") -> int:
    """Serve until interrupted; `page` is the query of the address that is opened."""
    from studio import serve as server
    from studio.services.settings import Settings

    if arguments.workspace:
        os.environ["GRS_WORKSPACE"] = str(arguments.workspace)  # where added robots are looked for
    settings = Settings.from_environment(workspace=arguments.workspace, model=model_setting(None, "kept"))
    server.serve(settings, arguments.host, arguments.port, access_from(arguments, settings.workspace), page)
    return DONE


def access_from(arguments: argparse.Namespace, workspace: Path) -> Access:
    """Return who may use the studio with that workspace. Raises StudioError."""
    from studio.accounts.links import Links

    proxies = arguments.allow_host or os.environ.get("GRS_ALLOW_HOST", "").split()
    if unreadable := [name for name in proxies if hostname(name) is None]:
        raise StudioError(f"--allow-host {unreadable[0]} is not a name; it takes NAME or NAME:PORT, as in lab.example")
    users = users_path(arguments.users, workspace)
    is_named = bool(arguments.users or os.environ.get("GRS_USERS"))  # then a missing file lets nobody in
    user_file = UserFile(users) if is_named or users.exists() else None
    logins = read_logins(arguments.auth, arguments.auth_file)
    return Access(
        logins,
        hosts=(*proxies, arguments.host),
        behind_proxy=bool(proxies),
        root_path=(arguments.root_path or os.environ.get("GRS_ROOT_PATH", "")).rstrip("/"),
        own_workspaces=arguments.workspaces == "own",
        links=Links(workspace) if logins or user_file else None,
        users=user_file,
    )
