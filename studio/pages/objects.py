"""Step 3: what each thing is, and which asset stands for it in the twin."""

from components.steps import ObjectCards
from studio.facts import objects
from studio.pages.masks import decide
from studio.session import Session
from studio.shell import Shell


def build(shell: Shell) -> None:
    cards = ObjectCards()
    shell.shows(cards, shown)
    shell.told(cards.decide, decide)


def shown(session: Session | None) -> dict:
    """Things first, what is no object last."""
    known = sorted(objects(session), key=lambda one: not one["is_object"])
    return {"objects": known, "waiting": "Nothing has been found yet. Objects show here as soon as the masks are done."}
