"""A tiny reverse proxy that publishes a server under a path, and remembers what was asked of it outside that path."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from served_studio import serving

OF_THE_CONNECTION = (b"connection", b"transfer-encoding")
"""Headers that a proxy does not pass on."""


@contextmanager
def published(address: str, path: str, strips: bool) -> Iterator[SimpleNamespace]:
    """Publish the server at `address` under `path`; gives {address, outside}.

    Args:
        strips: whether the proxy takes the path off the addresses that it passes on.
    """
    app, outside, transport = FastAPI(openapi_url=None), list[str](), httpx.AsyncHTTPTransport()

    @app.api_route("/{_:path}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"])
    async def answer(request: Request) -> Response:
        target = request.scope["raw_path"].decode()
        if not (target == path or target.startswith(f"{path}/")):
            outside.append(target)
            return Response(status_code=404)
        url = f"{address}{(target.removeprefix(path) or '/') if strips else target}?{request.url.query}"
        headers = [one for one in request.headers.raw if one[0] not in OF_THE_CONNECTION]
        asked = httpx.Request(request.method, url, headers=headers, content=await request.body())
        upstream = await transport.handle_async_request(asked)

        async def content() -> AsyncIterator[bytes]:
            try:
                async for part in upstream.aiter_raw():
                    yield part
            finally:
                await upstream.aclose()

        passed = StreamingResponse(content(), upstream.status_code)
        passed.raw_headers = [one for one in upstream.headers.raw if one[0].lower() not in OF_THE_CONNECTION]
        return passed

    with serving(app) as own:
        yield SimpleNamespace(address=f"{own}{path}", outside=outside)
