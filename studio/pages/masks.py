"""Step 2: the mask of each object."""

from components.steps import MaskCanvas
from studio.accounts.roles import Role
from studio.masks import mask_requests
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.sessions.object_decisions import apply_decision


def build(shell: Shell) -> None:
    canvas = MaskCanvas(answer=mask_requests.endpoint(shell.sessions))
    shell.show(canvas, mask_requests.canvas_record, facts.OBJECTS)
    shell.on_message(canvas.decide, apply_decision)
    shell.on_message(canvas.undo, lambda session, _: session.decisions.undo())
    shell.on_message(canvas.redo, lambda session, _: session.decisions.redo())
    shell.on_message(canvas.changed, lambda session, _: None, Role.VISIT)
    shell.on_message(canvas.find, mask_requests.replace_masks)
