"""Compare, over all steps: a real episode and a simulated one of the same task, side by side on one clock."""

from components.compare_page import ComparePage
from studio.accounts.roles import Role
from studio.compare.comparison_requests import endpoint, page_record
from studio.compare.comparisons import Comparisons
from studio.pages import facts
from studio.pages.page_shell import Shell


def build(shell: Shell, comparisons: Comparisons) -> None:
    page = ComparePage(answer=endpoint(comparisons))
    shell.show(page, lambda session: page_record(comparisons, session), [facts.results], Role.LOOK)
