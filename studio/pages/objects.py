"""Step 3: which matcher decides, what each object is, and which asset represents it in the twin."""

from components.matcher_bar import MatcherBar
from components.steps import ObjectCards
from studio.accounts.roles import Role
from studio.objects import candidate_comparison
from studio.objects.matcher_choice import choose_matcher, matcher_record
from studio.objects.matcher_scores import HANDLERS, MatcherScoring
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.records.object_records import object_cards
from studio.sessions.object_decisions import apply_decision
from studio.web.endpoints import Endpoint, PageToken

READING: dict[str, Role] = dict.fromkeys(("plan", "state", "download"), Role.LOOK)
"""Requests about scores that start nothing; the others need Role.WORK."""


def build(shell: Shell) -> None:
    scoring, page_token = MatcherScoring(lambda: shell.sessions.services), PageToken()
    bar = MatcherBar(answer=Endpoint(HANDLERS, page_token.context(scoring), roles=READING))
    shell.show(bar, lambda session: matcher_record(session, page_token.value), [facts.results, facts.services])
    shell.on_message(bar.choose, choose_matcher)
    cards = ObjectCards(answer=candidate_comparison.endpoint(shell.sessions))
    shell.show(cards, object_cards, facts.OBJECTS)
    shell.on_message(cards.decide, apply_decision)
