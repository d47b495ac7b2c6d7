"""Times of requests by route, and the table of them."""

import re
import time
from collections import defaultdict

import httpx
import numpy as np

ROUTE = re.compile(r"/[\w-]{20,}")
"""Parts of addresses that differ from project to project."""
STREAMS = ("/gradio_api/queue/data",)


class Timings:
    def __init__(self):
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name].append(seconds)

    @property
    def slowest(self) -> float:
        return max((max(values) for values in self.seconds.values()), default=0.0)

    def percentile(self, percent: float) -> float:
        return max((float(np.percentile(values, percent)) for values in self.seconds.values()), default=0.0)

    def table(self) -> str:
        lines = ["| what | times | median, ms | 95 %, ms | slowest, ms |", "|---|---|---|---|---|"]
        for name, values in sorted(self.seconds.items()):
            numbers = [1000 * float(value) for value in (*np.percentile(values, (50, 95)), max(values))]
            lines.append(f"| {name} | {len(values)} | " + " | ".join(f"{number:.0f}" for number in numbers) + " |")
        return "\n".join(lines)


class TimedTransport(httpx.AsyncHTTPTransport):
    """Measures each request until the head of its answer, that of a stream too, and notes every error."""

    def __init__(self, timings: Timings):
        # The server closes idle connections after 5 s; a browser repeats a request that meets this, httpx does not.
        super().__init__(limits=httpx.Limits(max_keepalive_connections=50, keepalive_expiry=2))
        self._timings = timings

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        began = time.perf_counter()
        name = f"{request.method} {ROUTE.sub('/...', request.url.path)}"
        try:
            answer = await super().handle_async_request(request)
            if not request.url.path.startswith(STREAMS):
                answer = httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())
        except httpx.HTTPError as error:
            self._timings.errors.append(f"{name}: {type(error).__name__}")
            raise
        self._timings.add(name, time.perf_counter() - began)
        if answer.status_code >= 400:
            self._timings.errors.append(f"{name}: {answer.status_code} {answer.text[:80]}")
        return answer
