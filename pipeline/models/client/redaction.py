"""Remove secrets from texts that a server sent: the key may come back as it is, encoded, or split over a stream."""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "***"


class Redactor:
    """Replaces every spelling of some secrets by ***."""

    def __init__(self, secrets: Iterable[str]):
        spellings = {
            # Shorter values such as "none" stand for no key; hiding them would garble ordinary text
            spelling
            for secret in secrets
            if len(secret) >= 6
            for spelling in _spellings(secret)
        }
        self._spellings = sorted(spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._spellings)), re.IGNORECASE) if spellings else None

    def __call__(self, text: str) -> str:
        """Return the text without the secrets, plain or encoded as a URL, in base64, hexadecimal, JSON or HTML."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def unfinished(self, text: str) -> str:
        """Return a text that is still arriving without the secrets, and without the start of one at its end."""
        text = self(text)
        tail = max((_overlap(text, spelling) for spelling in self._spellings), default=0)
        # Characters of a secret at the end of an unfinished text from which on they are held back
        return text[: len(text) - tail] if tail >= 4 else text


def secrets_of(key: str, address: str) -> tuple[str, ...]:
    """Return what must not be shown of a connection: the key, and the password in the server's address."""
    try:
        parts = urlsplit(address)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    except ValueError:
        return (key,)
    return (key, password, base64.b64encode(f"{user}:{password}".encode()).decode()) if password else (key,)


def _spellings(secret: str) -> Iterator[str]:
    """Yield how a secret may be written inside other text."""
    data = secret.encode()
    yield secret
    yield quote(secret)
    yield quote(secret, safe="")
    yield "".join(f"%{byte:02X}" for byte in data)
    yield data.hex()
    yield json.dumps(secret)[1:-1]
    yield html.escape(secret)
    for offset in range(3):  # a byte's place in its group of three decides its letters
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(b"\0" * offset + data).decode().rstrip("=")
            start, end = -(-8 * offset // 6), (8 * (offset + len(data))) // 6  # letters that only the secret decides
            yield encoded[start:end]


def _overlap(text: str, spelling: str) -> int:
    """Return how many characters at the end of the text are the start of the spelling."""
    lowered, start = text[-len(spelling) :].lower(), spelling.lower()
    return next((n for n in range(min(len(lowered), len(start) - 1), 0, -1) if lowered.endswith(start[:n])), 0)
