"""A page loaded a thousand times: does the server's memory stay as it is?"""

from tests.load.server_process import ServerProcess
from tests.page_client import connect, open_page

WARM_UP = 100
"""Loads before the memory is looked at: caches fill, and the last closed pages are kept."""


async def run(server: ServerProcess, project: str, count: int) -> list[tuple[int, float]]:
    """Load the project's page so often; return numbers of loads with the resident MB after them, ten times."""
    memory: list[tuple[int, float]] = []
    async with connect(server.address) as http:
        for number in range(WARM_UP + count + 1):
            if number >= WARM_UP and (number - WARM_UP) % max(1, count // 10) == 0:
                memory.append((number - WARM_UP, server.own_memory()))
            async with open_page(http, project):
                pass
    return memory
