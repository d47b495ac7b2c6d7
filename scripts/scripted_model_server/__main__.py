"""Serve the scripted model until interrupted."""

import argparse
import contextlib
import threading
from pathlib import Path

from scripts.scripted_model_server.answer_file import read_answer_file
from scripts.scripted_model_server.server import ScriptedServer


def main() -> None:
    """Parse the arguments and serve."""
    parser = argparse.ArgumentParser(prog="scripted_model_server", description="A model that answers by rules.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=8090, help="0 for any free port (default %(default)s)")
    parser.add_argument("--answers", type=Path, help="JSON file of answers that come before the rules'")
    parser.add_argument("--log", type=Path, help="file to append a JSON line to for each request")
    arguments = parser.parse_args()
    answers = read_answer_file(arguments.answers) if arguments.answers else ()
    with ScriptedServer(answers, arguments.log, (arguments.host, arguments.port)) as server:
        print(f"GRS_BASE_URL={server.url} GRS_MODEL={server.model}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
