"""A server on this machine that gives prepared answers, for clients of services elsewhere."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(answer: Callable[[str, bytes], tuple]) -> Iterator[str]:
    """Answer GET and POST; yield the server's address.

    Args:
        answer: takes path and body; returns status, body, and the length that is claimed if it is another.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length", 0)))
            status, body, *claimed = answer(self.path, sent)
            self.send_response(status)
            self.send_header("content-length", str(*claimed or [len(body)]))
            with suppress(ConnectionError):  # the client has heard enough
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
