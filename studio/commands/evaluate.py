"""`grs-studio evaluate`: the paper's Table 1 on any labelled frames, one line for each matcher."""

import argparse
import json
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from studio.commands.options import DONE, services_for


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("frames", type=Path, help="a folder of frames, each with truth/masks.png")
    command.add_argument(
        "--truth", type=Path, required=True, help='{"frames": {name: [{"id", "exact", "category", ...}]}}'
    )
    command.add_argument("--library", type=Path, action="append", default=[], help="searched instead of the default")
    command.add_argument(
        "--matcher",
        action="append",
        choices=tuple(plugins.entries("matchers")),
        help="repeatable; default: all of them",
    )
    command.add_argument(
        "--masks", default="own", choices=("own", "true"), help="found, or given (default %(default)s)"
    )
    command.add_argument("--model", default="offline", help="offline, openai, or replay:TRACE (default %(default)s)")
    command.add_argument("--out", type=Path, help="folder for table.md, table.csv, table.json and the calls' record")
    command.set_defaults(execute=evaluate)


def evaluate(arguments: argparse.Namespace) -> int:
    from pipeline.evaluation.matcher_evaluation import MatcherEvaluation, read_truth, score_matchers
    from pipeline.evaluation.matcher_table import markdown
    from pipeline.matching import why_unavailable

    folders, truth = read_truth(arguments.frames, arguments.truth)
    services = services_for(arguments)
    with closing(services.sandbox), tempfile.TemporaryDirectory(prefix="grs-") as temporary:
        for matcher in arguments.matcher or ():
            if why := why_unavailable(matcher, services.model, services.encoder):
                raise StudioError(f"the matcher {matcher} {why}")
        for done, _ in enumerate(services.compute_features() if services.compute_features else (), 1):
            print(f"\rlooking at the library's assets: {done} of {len(services.library)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        bench = MatcherEvaluation(
            folders, truth, services.library, services.segmenter, services.model, services.features, services.encoder,
            Path(temporary), arguments.masks == "true", asset_descriptions=services.asset_descriptions,
        )  # fmt: skip
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            bench = replace(bench, folder=arguments.out)
        table = None
        for step in score_matchers(bench, arguments.matcher or ()):
            print(f"{step.done} of {step.total}: {step.message}", file=sys.stderr)
            table = step.table or table
    assert table is not None
    print(*markdown(table), sep="\n")
    if arguments.out:
        write_table(table, arguments.out)
    return DONE


def write_table(table: object, folder: Path) -> None:
    """Write table.md, table.csv and table.json."""
    from pipeline.evaluation.matcher_evaluation import MatcherTable
    from pipeline.evaluation.matcher_table import markdown, to_csv, to_json
    from pipeline.store import write_text

    assert isinstance(table, MatcherTable)
    write_text(folder / "table.md", "\n".join(markdown(table)) + "\n")
    write_text(folder / "table.csv", to_csv(table))
    write_text(folder / "table.json", json.dumps(to_json(table), indent=1) + "\n")
