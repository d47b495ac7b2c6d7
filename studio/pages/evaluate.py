"""Evaluate, over all steps: policies on the same conditions, and their episodes side by side on one clock."""

from components.evaluate_page import EvaluatePage
from studio.accounts.roles import Role, current_role
from studio.evaluate.evaluate_requests import Evaluations, endpoint
from studio.pages.page_shell import Shell
from studio.sessions.session import Session


def build(shell: Shell, evaluations: Evaluations) -> None:
    page = EvaluatePage(answer=endpoint(shell.sessions, evaluations))

    def value(session: Session | None) -> dict:
        role = current_role.get()
        project = session.token if session else ""
        return {"project": project, "may_work": role >= Role.WORK, "may_run_code": role >= Role.ADMINISTER}

    shell.show(page, value, [], Role.LOOK)
