"""Name the protocol of a server that does not answer as a policy's server does: by its first bytes."""

import re
import socket
from urllib.parse import urlsplit

SECONDS = 2.0
"""For connecting and for each answer; these protocols answer at once."""
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
"""RFC 6455, section 4.1."""
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""Connection preface and an empty SETTINGS frame: RFC 9113, section 3.4."""
FIRST_BYTES = {
    "a websocket server": rb"HTTP/1\.1 101 ",
    "a gRPC server (HTTP/2)": rb"\0\0.\x04",  # its SETTINGS frame
    "a ZeroMQ server": rb"\xff.{8}[\x01\x7f]",  # ZMTP's greeting
    "a server with TLS (https://)": rb"\x15\x03",  # an alert
    "a server without TLS (http://)": rb"HTTP/1\.",
}


def server_protocol(address: str) -> str:
    """Return what answers at a web address, one of FIRST_BYTES; empty if nothing does, or in no known protocol."""
    parts = urlsplit(address)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    upgrade = UPGRADE.format(parts.path or "/", place[0]).encode("ascii", "replace")
    for question in (upgrade, HTTP_2):
        answer = _first_bytes(place, question)
        for name, pattern in FIRST_BYTES.items():
            if re.match(pattern, answer, re.DOTALL):
                return name
    return ""


def _first_bytes(place: tuple[str, int], question: bytes) -> bytes:
    try:
        with socket.create_connection(place, SECONDS) as connection:
            connection.sendall(question)
            return connection.recv(64)
    except OSError:
        return b""
