"""Hashes of passwords by scrypt (RFC 7914), as text: "scrypt$N$r$p$SALT$HASH", salt and hash in hexadecimal."""

import hashlib
import hmac
import secrets

from pipeline.errors import StudioError

COST, BLOCK_SIZE, PARALLEL = 1 << 15, 8, 3
"""32 MB and about 0.25 s a password. From OWASP's Password Storage Cheat Sheet, second of its equal choices."""
SALT_BYTES, HASH_BYTES = 16, 32
SHORTEST, LONGEST = 8, 1024
"""Characters of a password."""
MAX_MEMORY = 256 << 20
"""Bytes that the parameters in a file may ask for."""


def hash_password(password: str) -> str:
    """Return a new hash of a password. Raises StudioError for one that is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise StudioError(f"a password has {SHORTEST} to {LONGEST} characters, not {len(password)}")
    salt = secrets.token_bytes(SALT_BYTES)
    return _text(COST, BLOCK_SIZE, PARALLEL, salt, _scrypt(password, COST, BLOCK_SIZE, PARALLEL, salt))


def is_hash(text: object) -> bool:
    """Whether a text is a hash that `matches` can check."""
    try:
        return _parse(str(text)) is not None
    except ValueError:
        return False


def matches(password: str, text: str | None) -> bool:
    """Whether a password has that hash. For None, an unknown user, it takes as long and returns False."""
    cost, block_size, parallel, salt, expected = _parse(text or _UNKNOWN)
    found = _scrypt(password[:LONGEST], cost, block_size, parallel, salt)
    return hmac.compare_digest(found, expected) and text is not None and len(password) <= LONGEST


def _scrypt(password: str, cost: int, block_size: int, parallel: int, salt: bytes) -> bytes:
    data = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=cost, r=block_size, p=parallel, maxmem=MAX_MEMORY, dklen=HASH_BYTES)


def _text(cost: int, block_size: int, parallel: int, salt: bytes, key: bytes) -> str:
    return f"scrypt${cost}${block_size}${parallel}${salt.hex()}${key.hex()}"


def _parse(text: str) -> tuple[int, int, int, bytes, bytes]:
    """Return N, r, p, salt and hash. Raises ValueError."""
    kind, *numbers, salt, key = text.split("$")
    cost, block_size, parallel = map(int, numbers)
    if kind != "scrypt" or cost & (cost - 1) or not cost >= 1 << 10 or not block_size > 0 or not 0 < parallel <= 16:
        raise ValueError("unknown parameters")
    if 128 * block_size * (cost + parallel + 2) > MAX_MEMORY:
        raise ValueError("too much memory")
    if len(bytes.fromhex(salt)) < SALT_BYTES or len(bytes.fromhex(key)) != HASH_BYTES:
        raise ValueError("a salt or hash of another length")
    return cost, block_size, parallel, bytes.fromhex(salt), bytes.fromhex(key)


_UNKNOWN = _text(COST, BLOCK_SIZE, PARALLEL, bytes(SALT_BYTES), bytes(HASH_BYTES))
