"""`grs-studio learn`: split a task into subtasks, learn a policy for each, and evaluate them on unseen layouts."""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.simulation.robots import ROBOTS
from studio.commands.options import BAD_INPUT, DONE, add_model, add_unprotected, require_packages, services_for

if TYPE_CHECKING:
    from pipeline.learning.chain import SubtaskLearned, TaskLearner
    from pipeline.learning.judging.seams import SeamTuned
    from pipeline.learning.subtask import Subtask
    from pipeline.learning.training import TrainingProgress
    from pipeline.project import Project
    from pipeline.run import Services
    from pipeline.skills.starting import FormerPolicy

GRIPPER = "gripper"
"""The robot that floats."""
LAYOUTS = 30
"""Unseen layouts of an evaluation."""
DEMONSTRATIONS = 40
"""That a policy of the floating gripper begins with, as on the Learn page."""
STEPS, MINUTES = 80_000, 6.0
"""Most control steps of each subtask, and most time for all before measuring, where the oracle plans the rest."""


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a task")
    command.add_argument(
        "--subtask",
        action="append",
        default=[],
        metavar="NAME",
        help='learn this one; may be repeated (default all); "whole" is the task by one policy',
    )
    command.add_argument(
        "--steps", type=_positive, help=f"most control steps of each (default {STEPS}), in as much time as they take"
    )
    command.add_argument(
        "--minutes", type=float, help=f"most time for all of them (default {MINUTES:.0f}, or no limit)"
    )
    command.add_argument("--seed", type=int, default=0, help="of training or evaluation (default %(default)s)")
    command.add_argument(
        "--from",
        dest="origin",
        choices=("chain", "reset"),
        default="chain",
        help="begin in the end states of the former subtask, or on the task's layouts (default %(default)s)",
    )
    command.add_argument(
        "--demonstrations",
        type=_count,
        metavar="N",
        help=f"imitate N demonstrations of the oracle first (default {DEMONSTRATIONS}); 0 learns by reward alone",
    )
    _add_ways(command)
    command.add_argument("--evaluate", action="store_true", help="only measure success; JSON on stdout")
    command.add_argument(
        "--ablation",
        action="store_true",
        help="learn the task with and without subtasks, shaping and demonstrations, with three seeds; table on stdout",
    )
    command.add_argument("--layouts", type=_positive, default=LAYOUTS, help="unseen layouts (default %(default)s)")
    command.add_argument("--json", action="store_true", help="also print progress as JSON lines on stdout")
    add_model(command)
    add_unprotected(command)
    command.set_defaults(execute=learn)


def _add_ways(command: argparse.ArgumentParser) -> None:
    """Add the options of what is learned from, with what, and by whom."""
    command.add_argument(
        "--variants",
        type=_positive,
        default=0,
        metavar="N",
        help="train also on N variants of the twin: mass, friction, size and pose from the kept ranges; "
        "and measure on N others",
    )
    command.add_argument(
        "--skills",
        action="store_true",
        help="begin each subtask with the nearest policy that solved such a subtask in this workspace",
    )
    command.add_argument(
        "--robot",
        choices=tuple(ROBOTS),
        default=GRIPPER,
        help="what acts, with a cup; the arm starts from the floating gripper's policies (default %(default)s)",
    )
    command.add_argument(
        "--plan",
        metavar="NAME",
        action="append",
        default=[],
        help='let the oracle plan this subtask instead of learning it; may be repeated; "none" learns all; "rest", the '
        "default without options of how to learn, plans what stays below its target",
    )
    command.add_argument(
        "--reflect",
        action="store_true",
        help="ask the model for a better reward of what was trained and does not succeed yet, and take it",
    )


def _count(text: str) -> int:
    return 0 if text == "0" else _positive(text)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def complete(arguments: argparse.Namespace) -> None:
    """Fill in the options that were not given. Raises LearningError for some that do not go together."""
    from pipeline.learning.subtask import LearningError
    from pipeline.learning.variants import MAX_VARIANTS

    only_alone = [name for name in ("ablation", "evaluate", "plan", "reflect") if getattr(arguments, name)]
    if len(only_alone) > 1:
        raise LearningError(f"give --{only_alone[0]} or --{only_alone[1]}, not both")
    if "whole" in arguments.plan or ("none" in arguments.plan and len(arguments.plan) > 1):
        raise LearningError('--plan takes names of subtasks and "rest", or "none" alone')
    if arguments.skills and arguments.demonstrations:
        raise LearningError("give --skills or --demonstrations: a policy begins with one of them")
    if arguments.variants > MAX_VARIANTS:
        raise LearningError(
            f"--variants {arguments.variants} is too many; each is a world of its own: 1 to {MAX_VARIANTS}"
        )
    if arguments.robot not in (GRIPPER, "arm-suction"):
        raise LearningError(
            f"--robot {arguments.robot} has no suction cup, and learn commands one: x, y, z, yaw and suction; "
            "solve the task with it, then train on its export --format gymnasium, whose actions are the servos"
        )
    only_floating = {"ablation", "demonstrations", "plan", "reflect", "skills", "variants"}
    if arguments.robot != GRIPPER and (given := sorted(name for name in only_floating if getattr(arguments, name))):
        raise LearningError(f"--{given[0]} is for the floating gripper; leave it or --robot {arguments.robot} out")
    how = (arguments.subtask, arguments.steps, arguments.skills, arguments.demonstrations is not None)
    if not (only_alone or any(how) or arguments.robot != GRIPPER):
        arguments.plan = ["rest"]
    if arguments.minutes is None:
        arguments.minutes = MINUTES if "rest" in arguments.plan and not arguments.steps else float("inf")
    arguments.steps = arguments.steps or STEPS
    if arguments.demonstrations is None:
        arguments.demonstrations = 0 if arguments.skills or arguments.robot != GRIPPER else DEMONSTRATIONS


def learn(arguments: argparse.Namespace) -> int:
    """Learn or evaluate; a stopped command goes on where it was when it is repeated."""
    require_packages("learn", "gymnasium", "stable_baselines3")
    from pipeline.learning.judging.evaluation import write_unfinished
    from pipeline.learning.judging.generated_checks import measure
    from pipeline.learning.subtask import LearningError
    from pipeline.learning.variants import UNSEEN
    from pipeline.project import Project
    from pipeline.run.solved_examples import is_in_workspace, shared_folder
    from pipeline.skills.skill import FOLDER
    from pipeline.skills.starting import keep_skills, labelled
    from studio.sessions.project_learner import open_learner, variant_maker

    complete(arguments)
    project = Project.open(arguments.project)
    services = services_for(arguments)
    with contextlib.closing(services.sandbox):
        trained_on = 0 if arguments.evaluate or arguments.ablation else arguments.variants
        learner = open_learner(project, services, _report, trained_on)
        if arguments.ablation:
            _ablate(learner, arguments)
            return DONE
        if arguments.reflect:
            _reflect(project, services, learner, arguments.subtask)
            return DONE
        if arguments.robot != GRIPPER:
            return _use_arm(learner, arguments)
        skills = shared_folder(project, services, FOLDER)
        if named := [name for name in arguments.plan if name != "rest"]:
            former = learner.subtasks
            learner.plan([] if named == ["none"] else [one.name for one in learner.chosen(named)])
            if not _keep_ways(project, former, learner.subtasks):
                return BAD_INPUT
        if arguments.evaluate:
            _require_own_policies(learner)
        else:
            former = learner.subtasks
            learner.chosen(arguments.subtask)
            try:
                _train(learner, arguments, skills)
            except LearningError as error:
                _report(str(error))
                write_unfinished(learner, learner.not_learned())
                return DONE
            finally:
                _keep_ways(project, former, learner.subtasks)
        if not arguments.evaluate and (missing := learner.not_learned()):
            _report(f"not evaluated: {', '.join(missing)} not learned yet; repeat the command to go on")
            write_unfinished(learner, missing)
            return DONE
        _send_progress(arguments, {"doing": "measure"})
        maker = variant_maker(project, services)
        variants = maker.make(learner.layouts, learner.subtasks, UNSEEN, arguments.variants)
        report = measure(learner, arguments.layouts, arguments.seed, variants, maker.program, services.sandbox)
        report = labelled(learner, report)
        _print_report(report, arguments)
        if skills and is_in_workspace(project, services):
            for skill in keep_skills(learner, report, project.folder.resolve().name, skills):
                _report(f"kept as a skill of the workspace: {skill.subtask}")
    return DONE


def _reflect(project: "Project", services: "Services", learner: "TaskLearner", names: list[str]) -> None:
    """Ask for better rewards of subtasks, by default of those below their target, and take them. Raises StudioError."""
    from pipeline.learning.chain import target_of
    from pipeline.learning.subtask import WHOLE, LearningError, to_row
    from studio.sessions.project_learner import propose_reward, with_proposal

    target = target_of(len(learner.subtasks))
    folders = {one.name: learner.folder(one) for one in learner.subtasks}
    below = [
        one.name
        for one in learner.subtasks
        if one.way == "learn" and (folder := folders[one.name]).curve.is_file() and folder.is_of(one)
        if folder.training().best < target
    ]
    chosen = [one.name for one in learner.chosen(names)] if names else below
    if not chosen or WHOLE in chosen:
        raise LearningError(
            f"no subtask that was trained is below {target:.0%}; choose one by --subtask: {', '.join(folders)}"
        )
    subtasks = learner.subtasks
    for name in chosen:
        subtask = next(one for one in subtasks if one.name == name)
        proposal = propose_reward(project, services, learner.layouts, subtask, folders[name])
        _report(f"{name}: {proposal.model} proposes: {proposal.reason}")
        print(json.dumps(to_row(proposal.subtask)["reward"], indent=1))
        now = with_proposal(subtasks, name, folders[name])
        if _keep_edit(project, subtasks, now, f"{name}: reward by {proposal.model}"):
            subtasks = now
            _report(f"{name}: taken; repeat grs-studio learn to train with it, Undo on the page takes it back")


def _require_own_policies(learner: "TaskLearner") -> None:
    """Raise LearningError if a policy was learned with another reward or success than its subtask has."""
    from pipeline.learning.subtask import LearningError

    for one in learner.subtasks:
        folder = learner.folder(one)
        if one.way == "learn" and folder.policy.is_file() and not folder.is_of(one):
            raise LearningError(f"{one.name} was learned with another reward; learn it again, or undo that edit")


def _keep_ways(project: "Project", former: "Sequence[Subtask]", now: "Sequence[Subtask]") -> bool:
    """Keep which subtasks the oracle plans, if that changed; return False where it cannot be kept."""
    if former == now:
        return True
    planned = [one.name for one in now if one.way != "learn"]
    change = f"planned by the oracle: {', '.join(planned)}" if planned else "everything is learned"
    kept = _keep_edit(project, former, now, change)
    if kept:
        _report(f"{change}; Undo on the Learn page takes that back")
    return kept


def _keep_edit(project: "Project", former: "Sequence[Subtask]", now: "Sequence[Subtask]", change: str) -> bool:
    """Record an edit of subtasks as a decision; return False, with a line, where another process has the project."""
    from pipeline.learning.learning_files import FOLDER, note_former
    from pipeline.learning.subtask import write_subtasks
    from pipeline.project import ProjectError
    from studio.sessions.project_learner import EDITS, edit_data, task_of

    note_former(project.folder, former)
    try:
        project.decide(EDITS, **edit_data(task_of(project), tuple(former), tuple(now), change))
    except ProjectError as error:
        _report(f"not taken: {change}: {error}")
        return False
    write_subtasks(project.folder / FOLDER / "subtasks.json", now)
    return True


def _use_arm(floating: "TaskLearner", arguments: argparse.Namespace) -> int:
    """Learn with the arm from what the floating gripper has learned, and measure."""
    from pipeline.learning.judging.evaluation import write_unfinished
    from pipeline.learning.judging.generated_checks import measure
    from pipeline.learning.subtask import LearningError
    from pipeline.skills.starting import labelled
    from studio.sessions.project_learner import arm_learner

    if planned := [one.name for one in floating.subtasks if one.way != "learn"]:
        raise LearningError(
            f"{', '.join(planned)}: planned by the oracle, which moves the floating gripper; learn --plan none first"
        )
    learner = arm_learner(floating, arguments.robot)
    if not arguments.evaluate:
        _train(learner, arguments, None, floating)
    if not arguments.evaluate and (missing := learner.not_learned()):
        _report(f"not evaluated: {', '.join(missing)} not learned yet with {arguments.robot}")
        write_unfinished(learner, missing)
        return DONE
    _send_progress(arguments, {"doing": "measure"})
    _print_report(labelled(learner, measure(learner, arguments.layouts, arguments.seed)), arguments)
    return DONE


def _former_policies(floating: "TaskLearner") -> "dict[str, FormerPolicy]":
    """Return the floating gripper's policies by subtask."""
    from pipeline.skills.starting import FormerPolicy

    learned = [one for one in floating.subtasks if floating.folder(one).policy.is_file()]
    return {
        one.name: FormerPolicy(floating.folder(one).policy, f"{one.name} of the floating gripper") for one in learned
    }


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _train(
    learner: "TaskLearner", arguments: argparse.Namespace, skills: Path | None, floating: "TaskLearner | None" = None
) -> None:
    """Learn the chosen subtasks, or all and across their seams, with a line on stderr for every evaluation."""
    from pipeline.learning.chain import ChainOptions, target_of
    from pipeline.learning.judging.seams import tune_seams
    from pipeline.learning.training import TrainingOptions, on_this_machine
    from pipeline.skills.skill import read_skills
    from pipeline.skills.starting import fitting_skills, learn_from, learn_from_skills

    known = read_skills(skills)
    begins = arguments.skills or arguments.demonstrations or floating is not None
    if not begins and (fitting := fitting_skills(learner, known)):
        _report(f"the workspace has skills for {', '.join(fitting)}: --skills starts from them")

    begun = time.monotonic()
    target = target_of(len(learner.subtasks))
    training = on_this_machine(TrainingOptions(steps=arguments.steps, seed=arguments.seed, target=target))
    names = [one.name for one in learner.chosen(arguments.subtask) if one.way == "learn"]
    if planned := [one.name for one in learner.chosen(arguments.subtask) if one.way != "learn"]:
        _report(f"planned by the oracle: {', '.join(planned)}")
    begins = (
        f"{arguments.demonstrations} demonstrations and corrections" if arguments.demonstrations else "reward alone"
    )
    rest = "; the oracle plans what stays below that" if "rest" in arguments.plan else ""
    limit = f", in {arguments.minutes:g} minutes" if arguments.minutes < float("inf") else ""
    _report(
        f"learns {', '.join(names) or 'nothing'}{limit}: each by {begins}, then at most {arguments.steps:,} steps, "
        f"until {training.target:.0%} of the validation layouts succeed{rest}; report.json says what was reached"
    )
    if floating is not None:
        training = replace(training, on_gpu=False)
    options = ChainOptions(
        training,
        tuple(arguments.subtask),
        seconds=60 * arguments.minutes,
        from_reset=arguments.origin == "reset",
        demonstrations=arguments.demonstrations,
        plans_rest="rest" in arguments.plan,
    )
    if floating is not None:
        learning = learn_from(learner, options, _former_policies(floating), _report)
    else:
        learning = learn_from_skills(learner, options, known, _report) if arguments.skills else learner.learn(options)
    with contextlib.closing(learning) as steps:
        _report_progress(steps, arguments)
    left = options.seconds - (time.monotonic() - begun)
    if not arguments.subtask and left > 0 and not learner.not_learned():
        _send_progress(arguments, {"doing": "seams"})
        with contextlib.closing(tune_seams(learner, replace(training, seconds=left))) as steps:
            _report_progress(steps, arguments)


def _report_progress(
    steps: "Iterable[TrainingProgress | SubtaskLearned | SeamTuned]", arguments: argparse.Namespace
) -> None:
    """Print a line on stderr for every evaluation and for every subtask that is done."""
    from pipeline.learning.chain import SubtaskLearned
    from pipeline.learning.judging.seams import SeamTuned

    for step in steps:
        if isinstance(step, SubtaskLearned):
            how = "learned to" if step.way == "learn" else "planned by the oracle, solves"
            line = f"{step.subtask}: {how} {step.success:.0%} of validation layouts, {step.end_states} end states"
            if step.by_policy is not None:
                line += f"; its policy solved {step.by_policy:.0%}, --plan none and more --minutes train it on"
        elif isinstance(step, SeamTuned):
            line = (
                f"{step.subtask}: trained on from where the former subtask ends, {step.before:.0%} to {step.after:.0%} "
                f"of {step.layouts} states"
            )
        else:
            names = ("subtask", "steps", "seconds", "imitated", "finished")
            _send_progress(arguments, {name: getattr(step, name) for name in names})
            if step.success is None:
                continue
            line = f"{step.subtask}: {step.steps} steps, {step.seconds:.0f} s, success {step.success:.0%}"
        print(line, file=sys.stderr, flush=True)


def _send_progress(arguments: argparse.Namespace, progress: dict) -> None:
    """Print progress for the program that started the command, such as the Learn page."""
    if arguments.json:
        print(json.dumps(progress), flush=True)


def _ablate(learner: "TaskLearner", arguments: argparse.Namespace) -> None:
    """Learn every variant of the ablation and print its table; a stopped one goes on where it was."""
    from pipeline.learning.judging.ablation import AblationSize, ablate
    from pipeline.store import read_json

    options = AblationSize(steps=arguments.steps, layouts=arguments.layouts)
    folder = learner.report_file.parent
    for line in ablate(folder.parent, learner.layouts, learner.subtasks, options):
        print(line, file=sys.stderr, flush=True)
    if not arguments.json:
        print(json.dumps(read_json(folder / "ablation.json"), indent=1))


def _print_report(report: dict, arguments: argparse.Namespace) -> None:
    """Print report.json if that was asked for, else its summary."""
    if arguments.evaluate:
        print(json.dumps(report, indent=1))
        return
    for name, words in (("chain", "unseen layouts"), ("variants", "unseen layouts of unseen variants")):
        if found := report.get(name):
            planned = ", ".join(row["name"] for row in report["subtasks"] if row.get("way") == "plan")
            by = f" ({planned}: planned by the oracle)" if planned else ""
            print(f"{name}: {found['success']:.0%} of {found['layouts']} {words}{by}", file=sys.stderr)
