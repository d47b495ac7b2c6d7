"""Which kind of server answers at an address, from the first bytes that it sends."""

import re
import socket

SECONDS = 2.0
"""For connecting and for each answer; these protocols answer at once."""
LISTEN_SECONDS = 0.5
"""For a server that speaks first. A ZeroMQ server is asked nothing: a request of HTTP can block its socket for good."""
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
"""RFC 6455, section 4.1."""
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""Connection preface and an empty SETTINGS frame: RFC 9113, section 3.4."""
WEBSOCKET, GRPC, ZEROMQ = "a websocket server", "a gRPC server (HTTP/2)", "a ZeroMQ server"
TLS, NO_TLS = "a server with TLS (https://)", "a server without TLS (http://)"
FIRST_BYTES = {
    WEBSOCKET: rb"HTTP/1\.1 101 ",
    GRPC: rb"\0\0.\x04",  # its SETTINGS frame
    ZEROMQ: rb"\xff.{8}[\x01\x7f]",  # ZMTP's greeting
    TLS: rb"\x15\x03",  # an alert
    NO_TLS: rb"HTTP/1\.",
}
SPECS = {WEBSOCKET: "openpi:// or vla-eval://", GRPC: "lerobot://", ZEROMQ: "groot://", NO_TLS: "http://"}
"""What a SPEC of such a server begins with."""


def server_protocol(host: str, port: int, path: str = "/") -> str:
    """Return what answers, one of FIRST_BYTES; empty if nothing does, or in no known protocol."""
    upgrade = UPGRADE.format(path or "/", host).encode("ascii", "replace")
    for question, seconds in ((b"", LISTEN_SECONDS), (upgrade, SECONDS), (HTTP_2, SECONDS)):
        answer = _first_bytes((host, port), question, seconds)
        for name, pattern in FIRST_BYTES.items():
            if re.match(pattern, answer, re.DOTALL):
                return name
    return ""


def why_no_answer(host: str, port: int, wanted: str) -> str:
    """Return what is wrong with an address at which a kind of server was expected, and what to do."""
    found = server_protocol(host, port)
    if found and found != wanted:
        advice = f"; begin it with {SPECS[found]}" if found in SPECS else ""
        return f"is the address of {found}, and {wanted} is expected{advice}"
    return "cannot be reached; start the policy's server first" if not found else "does not answer as expected"


def _first_bytes(place: tuple[str, int], question: bytes, seconds: float) -> bytes:
    try:
        with socket.create_connection(place, SECONDS) as connection:
            connection.settimeout(seconds)
            connection.sendall(question)
            return connection.recv(64)
    except OSError:
        return b""
