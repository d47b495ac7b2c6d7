"""How the rounds of the task ended, in one line."""

from studio.sessions.session import Session
from studio.texts import t


def outcome_line(session: Session) -> str:
    """Return how the newest round and the solution ended; empty before the present task has a round."""
    rounds, best = session.cache.get("rounds", "rounds.jsonl", session.project.rounds), session.project.best_round()
    if not rounds or best is None:
        return ""
    newest = rounds[-1]
    solution = session.cache.get("solution", "solution.json", session.project.solution)
    is_current = solution is not None and session.project.stages()["solution"] == "done"
    seeds = (
        t("{solved} of {seeds} seeds", solved=sum(solution.success), seeds=len(solution.success))
        if solution and is_current
        else ""
    )
    verdict = t("Not solved")
    if solution and solution.solved:
        verdict = t("Doubtful") if session.project.doubts(solution) else t("Solved")
    if newest.report.clean:
        return (
            t("{verdict}: {seeds}. Watch it in Review and export.", verdict=verdict, seeds=seeds)
            if seeds
            else t("Round {number} passed.", number=newest.number)
        )
    if best.number == newest.number:
        return t("Round {number} failed; no round passed.", number=newest.number)
    shown = f" ({verdict}: {seeds})" if seeds else ""
    return t(
        "Round {failed} failed; showing round {shown}{solved}.", failed=newest.number, shown=best.number, solved=shown
    )
