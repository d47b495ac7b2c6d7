"""Step 3: what each object is, and which asset represents it in the twin."""

from components.steps import ObjectCards
from studio.objects import candidate_comparison
from studio.pages import matcher
from studio.pages.page_shell import Shell
from studio.records.object_records import object_cards
from studio.sessions.object_decisions import apply_decision


def build(shell: Shell) -> None:
    matcher.build(shell)
    cards = ObjectCards(answer=candidate_comparison.endpoint(shell.sessions))
    shell.show(cards, object_cards)
    shell.on_message(cards.decide, apply_decision)
