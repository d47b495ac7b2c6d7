"""Two rounds, or two layouts of one round, side by side: what was met in one and not in the other, and the code."""

from collections.abc import Mapping
from typing import Any

from pipeline.object_words import ObjectWords, object_words
from pipeline.router import Round
from pipeline.simulation.run_record import RunRecord
from studio.records.text_diff import program_diff
from studio.sessions.round_replay import PHOTOGRAPHED_LAYOUT, RoundLayout
from studio.sessions.session import Session
from studio.texts import t

WORDS = {True: "met", False: "not met", None: "absent"}


def compare(session: Session, message: Mapping[str, Any]) -> None:
    """Compare the rounds {a, b}, or the layout {seed} of the round {a} with the photographed one; end it with null."""
    a, b, seed = message.get("a"), message.get("b"), message.get("seed")
    session.compared = None
    if a is not None and seed is not None:
        session.compared = RoundLayout(int(a)), RoundLayout(int(a), int(seed))
    elif a is not None and b is not None:
        earlier, later = sorted((int(a), int(b)))
        session.compared = RoundLayout(earlier), RoundLayout(later)


def layout_title(layout: RoundLayout, with_layout: bool = False) -> str:
    """Return the words for a rollout on the screen."""
    title = t("Round {number}", number=layout.number)
    if layout.seed != PHOTOGRAPHED_LAYOUT:
        return t("{title}, layout {seed}", title=title, seed=layout.seed)
    return t("{title}, photographed layout", title=title) if with_layout else title


def comparison_record(session: Session, by_number: Mapping[int, Round]) -> dict[str, Any] | None:
    """Return {titles: [2], reasons: [[title, text]], outcomes: [[name, first, second]], changes}; None if nothing is
    compared. `changes` is None for two layouts of one round."""
    pair = session.compared
    if pair is None or not all(layout.number in by_number for layout in pair):
        return None
    a, b = (by_number[layout.number] for layout in pair)
    titles, words = compared_titles(pair), object_words(session.project)
    if a.number == b.number:
        records = [session.replay.rollout(layout) for layout in pair]
        outcomes = layout_outcomes(*records) if None not in records else []
        return {"titles": titles, "reasons": [], "outcomes": _in_words(outcomes, words), "changes": None}
    reasons = [
        [title, words.in_words(shown.reason)] for title, shown in zip(titles, (a, b), strict=True) if shown.reason
    ]
    changes = program_diff(a.program, b.program)
    return {
        "titles": titles,
        "reasons": reasons,
        "outcomes": _in_words(outcome_differences(a, b, words), words),
        "changes": changes,
    }


def compared_titles(pair: tuple[RoundLayout, RoundLayout]) -> list[str]:
    """Return the words for two rollouts, which name their layouts if these differ."""
    return [layout_title(layout, pair[0].number == pair[1].number) for layout in pair]


def outcome_differences(a: Round, b: Round, words: ObjectWords) -> list[list[str]]:
    """Return the name of each check and goal that only one of two rounds meets, and how each of them ended."""
    outcomes = [
        {t("Check {name}", name=words.of_check(c.name)): c.passed for c in one.report.checks}
        | {
            t("Goal {name}", name=goal.get("name")): bool(goal.get("met"))
            for goal in one.report.evidence.get("goals") or ()
        }
        for one in (a, b)
    ]
    return _rows(*outcomes, differing=True)


def layout_outcomes(a: RunRecord | None, b: RunRecord | None) -> list[list[str]]:
    """Return the reward and the goals of two rollouts and how each of them ended."""
    records = [record for record in (a, b) if record is not None]
    goals = [{t("Goal {name}", name=goal["name"]): bool(goal["met"]) for goal in record.goals} for record in records]
    return [[t("Reward"), *(f"{record.reward:.2f}" for record in records)], *_rows(*goals, differing=False)]


def _rows(a: Mapping[str, bool], b: Mapping[str, bool], differing: bool) -> list[list[str]]:
    pairs = [(name, a.get(name), b.get(name)) for name in dict.fromkeys([*a, *b])]
    return [[name, WORDS[x], WORDS[y]] for name, x, y in pairs if x != y or not differing]


def _in_words(outcomes: list[list[str]], words: ObjectWords) -> list[list[str]]:
    return [[words.in_words(name), *ends] for name, *ends in outcomes]
