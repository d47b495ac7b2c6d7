"""The library, over all steps: every asset, one of them in detail, and the import of more."""

from components.library_page import LibraryPage
from studio.accounts.roles import Role
from studio.library.library_requests import endpoint, page_record
from studio.library.shared_library import SharedLibrary
from studio.pages import facts
from studio.pages.page_shell import Shell
from studio.sessions.object_decisions import apply_decision


def build(shell: Shell, shared: SharedLibrary) -> None:
    page = LibraryPage(answer=endpoint(shared))
    reads = [*facts.OBJECTS, lambda _: shared.library.digest]
    shell.show(page, lambda session: page_record(session, shared), reads, Role.LOOK)
    shell.on_message(page.decide, apply_decision)
    shell.refresh_on(page.changed)
