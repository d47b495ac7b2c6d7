"""The review queue, over all steps: from one least sure object or frame to the next."""

from functools import partial

from components.page_frame import ReviewQueue
from studio.accounts.roles import Role
from studio.board.board import Board
from studio.board.review_queue import apply_review, review_record
from studio.pages import facts
from studio.pages.gallery_items import open_gallery_item
from studio.pages.page_shell import Shell


def build(shell: Shell, board: Board) -> None:
    queue = ReviewQueue()
    shell.show(queue, review_record, facts.OBJECTS)
    shell.on_message(queue.review, lambda _, message: apply_review(board, message))
    shell.open_on_message(queue.open, partial(open_gallery_item, shell.sessions))
    shell.open_on(queue.home, lambda: None, Role.LOOK)
