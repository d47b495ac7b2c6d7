"""`grs-studio evaluate-policy`: let a policy control the twin's robot, and measure its success and divergence."""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from studio.commands.options import DONE, require_packages

OUTCOMES, SUMMARY, ENVIRONMENT = "outcomes.jsonl", "policy.json", "environment"


def add_to(commands: "argparse._SubParsersAction") -> None:
    """Add the subcommand."""
    command = commands.add_parser("evaluate-policy", help="let a policy control the robot; success and divergence")
    command.add_argument(
        "task", type=Path, metavar="PROJECT|EXPORT", help="solved project, or its export in format gymnasium, unpacked"
    )
    command.add_argument(
        "--policy", required=True, metavar="POLICY",
        help="http://HOST:PORT/PATH, lerobot:http://HOST:PORT/PATH, FILE.py:FUNCTION, demonstration, hold",
    )  # fmt: skip
    command.add_argument("--out", type=Path, required=True, help=f"folder for {OUTCOMES}, {SUMMARY} and episodes/")
    command.add_argument("--seconds", type=float, default=30.0, help="simulated, of an episode (default %(default)s)")
    command.add_argument("--images", action="store_true", help="send the picture of the photograph's camera, too")
    command.add_argument(
        "--real", type=Path, metavar="DIR", help="folder of real episodes, each named after its layout: 000.npz, ..."
    )
    command.set_defaults(execute=evaluate_policy)


def evaluate_policy(arguments: argparse.Namespace) -> int:
    """Write each outcome as it is known, then the summary; a repeated command goes on where it was stopped."""
    from pipeline.closed_loop import PolicyError

    require_packages("gymnasium", "gymnasium")
    if not 0 < arguments.seconds <= 3600:
        raise PolicyError(f"--seconds {arguments.seconds:g} is not between 0 and 3600")
    from pipeline.closed_loop import open_policy
    from pipeline.closed_loop.conditions import run_policy
    from pipeline.divergence import write_episode
    from pipeline.divergence.project_episodes import rollout_episode
    from pipeline.export.gym_env.environment import TwinEnv
    from pipeline.store import append_lines

    folder = _environment(arguments.task, arguments.out)
    done = _done(arguments)
    env = TwinEnv(render_mode="rgb_array" if arguments.images else None, folder=folder)
    try:
        policy = open_policy(arguments.policy, env)
        for layout in (seed for seed in env.layouts if seed not in done):
            outcome, ran = run_policy(env, policy, layout, arguments.seconds)
            episode = rollout_episode(
                ran.times, ran.qpos, ran.actions, ran.xml, (), f"policy on layout {layout}", folder / "scene"
            )
            outcome = replace(outcome, rmse=_rmse(arguments.real, episode, layout))
            write_episode(episode, arguments.out / "episodes" / f"{layout:03d}.npz")
            append_lines(arguments.out / OUTCOMES, [{"policy": arguments.policy, **asdict(outcome)}])
            done[layout] = asdict(outcome)
            print(_sentence(done[layout]), file=sys.stderr)
    finally:
        env.close()
    _summarise([done[layout] for layout in env.layouts], arguments)
    return DONE


def _environment(task: Path, out: Path) -> Path:
    """Return the folder of the exported environment; a project is exported below `out` first."""
    from pipeline.closed_loop import PolicyError
    from pipeline.divergence.project_episodes import is_project
    from pipeline.export import export_project

    if (task / "layouts.json").is_file():
        return task
    if not is_project(task):
        raise PolicyError(f"{task} is neither a project nor an unpacked export in format gymnasium")
    if not (out / ENVIRONMENT / "layouts.json").is_file():
        out.mkdir(parents=True, exist_ok=True)
        export_project(task, "gymnasium", out / ENVIRONMENT)
    return out / ENVIRONMENT


def _done(arguments: argparse.Namespace) -> dict[int, dict]:
    """Return the outcomes that are known, by layout. Raises PolicyError for those of another policy."""
    from pipeline.closed_loop import PolicyError
    from pipeline.store import parse_json

    path = arguments.out / OUTCOMES
    try:
        rows = [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
        others = {row.pop("policy") for row in rows} - {arguments.policy}
        done = {int(row["layout"]): row for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyError(f"{path} cannot be read ({error}); choose another --out folder") from None
    if others:
        raise PolicyError(f"{path} holds outcomes of {others.pop()}; choose another --out folder")
    return done


def _rmse(real: Path | None, episode, layout: int) -> float | None:
    """Return the mean RMSE_norm against the real episode of a layout; None without one."""
    from pipeline.divergence import compare, read_episode

    if real is None:
        return None
    found = sorted(path for path in real.glob(f"{layout:03d}*") if path.stem == f"{layout:03d}")
    if not found:
        return None
    return float(compare(read_episode(found[0]), episode, None, "clock").errors["rmse_overall"].mean())


def _summarise(outcomes: list[dict], arguments: argparse.Namespace) -> None:
    from pipeline.store import write_json
    from pipeline.variation import wilson

    solved = wilson(sum(one["success"] for one in outcomes), len(outcomes))
    rmses = [one["rmse"] for one in outcomes if one.get("rmse") is not None]
    summary = {
        "policy": arguments.policy, "solved": asdict(solved), "outcomes": outcomes,
        "rmse": sum(rmses) / len(rmses) if rmses else None,
    }  # fmt: skip
    write_json(arguments.out / SUMMARY, summary)
    compared = f", RMSE_norm {summary['rmse']:.4f} over {len(rmses)} real episodes" if rmses else ""
    print(f"{arguments.policy}: {_share(solved)} layouts solved{compared}", file=sys.stderr)


def _share(share) -> str:
    return f"{share.successes} of {share.count} ({100 * share.low:.0f} to {100 * share.high:.0f} %)"


def _sentence(outcome: dict) -> str:
    verdict = "solved" if outcome["success"] else f"not solved ({100 * outcome['share']:.0f} % of the goals)"
    return f"layout {outcome['layout']}: {verdict} after {outcome['seconds']:.1f} s"
