"""How the rounds of the task ended, in one line."""

from studio.sessions.session import Session


def outcome_line(session: Session) -> str:
    """Return how the newest round and the solution ended; empty before the present task has a round."""
    rounds, best = session.cache.get("rounds", "rounds.jsonl", session.project.rounds), session.project.best_round()
    if not rounds or best is None:
        return ""
    newest = rounds[-1]
    solution = session.cache.get("solution", "solution.json", session.project.solution)
    is_current = solution is not None and session.project.stages()["solution"] == "done"
    seeds = f"{sum(solution.success)} of {len(solution.success)} seeds" if solution and is_current else ""
    if newest.report.clean:
        verdict = "Solved" if solution and solution.solved else "Not solved"
        return f"{verdict}: {seeds}. Watch it in Review and export." if seeds else f"Round {newest.number} passed."
    if best.number == newest.number:
        return f"Round {newest.number} failed; no round passed."
    return f"Round {newest.number} failed; showing round {best.number}" + f", solved on {seeds}" * bool(seeds) + "."
