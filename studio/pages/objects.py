"""Step 3: what each thing is, and which asset stands for it in the twin."""

from components.steps import ObjectCards
from pipeline.assets.reconstruct import WAYS
from studio.comparing import answer
from studio.facts import objects
from studio.pages import matcher
from studio.pages.masks import decide
from studio.session import Session
from studio.shell import Shell


def build(shell: Shell) -> None:
    matcher.build(shell)
    cards = ObjectCards(lambda request: answer(shell.sessions, request))
    shell.shows(cards, shown)
    shell.told(cards.decide, decide)


def shown(session: Session | None) -> dict:
    """Things first, what is no object last. A service makes objects only where one is set up."""
    served = session is not None and session.services.image_to_3d is not None
    return {
        "token": session.token if session else "",
        "objects": sorted(objects(session), key=lambda one: not one["is_object"]),
        "ways": [{"way": way, "title": title} for way, title in WAYS.items() if way != "provider" or served],
        "waiting": "Nothing has been found yet. Objects show here as soon as the masks are done.",
    }
