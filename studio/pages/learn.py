"""Learn, over all steps: policies for the subtasks of the task, trained, measured and played."""

from components.learn_page import LearnPage
from studio.accounts.roles import Role, current_role
from studio.learn.learn_requests import Learning, endpoint
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.sessions.session import Session


def build(shell: Shell, learning: Learning) -> None:
    page = LearnPage(answer=endpoint(shell.sessions, learning))

    def value(session: Session | None) -> dict:
        if session is None:
            return {"project": "", "may_work": False, "decided": 0, "layouts": ""}
        record = {"may_work": current_role.get() >= Role.WORK, "decided": len(session.project.decisions)}
        return {"project": session.token, **record, "layouts": learning.known_stamp(session)}

    shell.show(page, value, [facts.results, learning.known_stamp], Role.LOOK)
    shell.refresh_on(page.changed)
