"""Above the objects: which matcher decides, and how well each matcher does on labelled frames."""

from components.matcher_bar import MatcherBar
from studio.accounts.roles import Role
from studio.objects.matcher_choice import choose_matcher, matcher_record
from studio.objects.matcher_scores import HANDLERS, MatcherScoring
from studio.pages.page_shell import Shell
from studio.web.endpoints import Endpoint, PageToken

READING: dict[str, Role] = dict.fromkeys(("plan", "state", "download"), Role.LOOK)
"""Requests that start nothing; the others need Role.WORK."""


def build(shell: Shell) -> None:
    scoring, page_token = MatcherScoring(lambda: shell.sessions.services), PageToken()
    bar = MatcherBar(answer=Endpoint(HANDLERS, page_token.context(scoring), roles=READING))
    shell.show(bar, lambda session: matcher_record(session, page_token.value))
    shell.on_message(bar.choose, choose_matcher)
