"""Step 6: the solution, its success on every seed, the source of every stage, and the export."""

from components.steps import Results
from components.viewer import Viewer, viewer_value
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.review import sharing
from studio.review.results_record import results_record
from studio.scene.fit_table import viewer_labels
from studio.scene.viewer_content import ViewerContent, with_twin
from studio.sessions.session import Session
from studio.task.proposals import task_in_words
from studio.texts import t

NO_SOLUTION = "No solution yet. Choose a task in Task and simulation, then Generate."


def build(shell: Shell, content: ViewerContent) -> None:
    viewer = Viewer(height="clamp(240px, 100vh - 360px, 640px)", elem_id="replay")
    table = Results(answer=sharing.endpoint(shell.sessions, shell.links))

    def solution(session: Session | None) -> dict:
        if session is None:
            return viewer_value(None)
        solved = content.solution(session)
        value = viewer_value(solved or content.twin(session), **viewer_labels(session))
        caption = with_twin(session, task_in_words(session), recorded_in(session)) if solved else t(NO_SOLUTION)
        return value | {"empty": t(NO_SOLUTION), "presents": True, "caption": caption}

    def recorded_in(session: Session) -> str:
        found = session.cache.get("solution", "solution.json", session.project.solution)
        return found.twin if found else ""

    shell.show(viewer, solution, [*facts.OBJECTS, content.views])
    shares = {"shares": shell.links is not None}
    shell.show(table, lambda session: results_record(session) | shares, [*facts.OBJECTS, facts.work])
    shell.on_message(table.solve, lambda session, message: session.solve(str(message["robot"])))
