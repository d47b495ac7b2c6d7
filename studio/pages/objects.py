"""Step 3: what each thing is, and which asset stands for it in the twin."""

from components.steps import ObjectCards
from pipeline.assets import reconstruct
from studio.comparing import answer
from studio.facts import objects
from studio.pages import matcher
from studio.pages.masks import decide
from studio.session import Session
from studio.shell import Shell

WAYS: dict[str, str] = getattr(reconstruct, "WAYS", {"best": "whichever explains what was seen best"})


def build(shell: Shell) -> None:
    matcher.build(shell)
    cards = ObjectCards(lambda request: answer(shell.sessions, request))
    shell.shows(cards, shown)
    shell.told(cards.decide, decide)


def shown(session: Session | None) -> dict:
    """Things first, what is no object last."""
    return {
        "token": session.token if session else "",
        "objects": sorted(objects(session), key=lambda one: not one["is_object"]),
        "ways": [{"way": way, "title": title} for way, title in WAYS.items()],
        "waiting": "Nothing has been found yet. Objects show here as soon as the masks are done.",
    }
