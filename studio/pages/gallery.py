"""The start page: sample scenes, earlier projects, and a place to drop a frame."""

from functools import partial

import gradio as gr

from components.page_frame import FramePicker, Gallery
from studio.accounts.roles import Role
from studio.board.batches import Batches
from studio.board.board import Board
from studio.board.board_requests import endpoint
from studio.board.set_requests import SetExports
from studio.masks.uploads import ACCEPTED, Uploads, frame_preview, recording_record, strip_pictures
from studio.pages.gallery_items import gallery_record, open_gallery_item, open_uploaded_frame
from studio.pages.page_shell import Shell
from studio.sessions.session import Session
from studio.web.endpoints import Endpoint, PageToken


def build(shell: Shell, board: Board, exports: SetExports) -> None:
    gr.HTML(
        '<h1 class="welcome">From one RGB-D frame to a solved task</h1>'
        '<p class="welcome">Start with a frame of your own, or open a sample scene.</p>',
        padding=False,
    )
    uploads, sessions = Uploads(), shell.sessions
    drop = gr.File(label=f"A frame of your own: {ACCEPTED}", file_count="multiple", elem_id="drop", height=118)
    previews = {"preview": frame_preview, "strip": strip_pictures}
    picker = FramePicker(
        answer=Endpoint(previews, lambda _: (uploads,), default_kind="preview", long_kinds=("preview", "strip"))
    )
    token = PageToken()
    batches = Batches(sessions)
    gallery = Gallery(answer=endpoint(board, exports, batches, token))

    def value(session: Session | None) -> dict | None:
        return gallery_record(board, batches, token.value) if session is None else None

    shell.show(gallery, value, [], Role.LOOK)
    shell.open_on_message(gallery.open, partial(open_gallery_item, sessions), Role.LOOK)
    shell.open_on_message(picker.open, partial(open_uploaded_frame, sessions, uploads))
    shell.show_on_open(picker, lambda session: {})
    shell.show_on_open(drop, lambda session: None)
    shell.reply_to_upload(drop, partial(recording_record, uploads), picker)
