"""Limits how often a login may be tried, so that passwords cannot be guessed by trying many."""

import ipaddress
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from fastapi import HTTPException

from studio.texts import t

LONGEST_WAIT = 300.0
"""Seconds. The wait begins with one second and doubles with each failed attempt."""
ATTEMPTS_A_MINUTE = 60
"""Attempts of all addresses together."""
REMEMBERED, LONGEST_NAME = 1024, 64
"""Addresses that are remembered, and names, and names of each address; and how many characters of a name."""
current_address: ContextVar[str] = ContextVar("current_address", default="")
"""Where the request came from."""


@dataclass
class _Attempts:
    by_other: Counter[str] = field(default_factory=Counter)
    """Failed attempts of an address by name, or for a name by address."""
    wait_until: float = 0.0


class _Limit:
    """Failed attempts by one key, each also by another: a success takes back those of its own pair, and no others."""

    def __init__(self, free: int):
        self._free = free
        self._attempts: OrderedDict[str, _Attempts] = OrderedDict()

    def wait_until(self, key: str) -> float:
        return self._attempts[key].wait_until if key in self._attempts else 0.0

    def count(self, key: str, other: str, now: float) -> None:
        attempts = self._attempts.setdefault(key, _Attempts())
        self._attempts.move_to_end(key)
        while len(self._attempts) > REMEMBERED:
            self._attempts.popitem(last=False)
        attempts.by_other[other if len(attempts.by_other) < REMEMBERED else ""] += 1
        if (excess := attempts.by_other.total() - self._free) >= 0:
            attempts.wait_until = now + min(2.0**excess, LONGEST_WAIT)

    def succeeded(self, key: str, other: str) -> None:
        if attempts := self._attempts.get(key):
            del attempts.by_other[other]
            if attempts.by_other.total() < self._free:
                attempts.wait_until = 0.0


class LoginLimits:
    """Counts attempts by address and by name, and in all. An attempt counts as failed until it succeeds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        # 5: failed attempts of one address before it has to wait
        # 30: failed attempts for one name, from all addresses, before it has to wait: more, so that it is harder to
        # lock out
        self._of_address, self._of_name = _Limit(5), _Limit(30)
        self._recent: deque[float] = deque(maxlen=ATTEMPTS_A_MINUTE)

    def wait(self, address: str, name: str) -> int:
        """Count an attempt and return 0; if it may not be made now, return how many seconds to wait."""
        now, address, name = self._clock(), _network(address), name[:LONGEST_NAME]
        until = max(self._of_address.wait_until(address), self._of_name.wait_until(name))
        if len(self._recent) == ATTEMPTS_A_MINUTE:
            until = max(until, self._recent[0] + 60)
        if until > now:
            return math.ceil(until - now)
        self._recent.append(now)
        self._of_address.count(address, name, now)
        self._of_name.count(name, address, now)
        return 0

    def succeeded(self, address: str, name: str) -> None:
        """Forget the attempts of an address for a name with which someone logged in there, and no others."""
        address, name = _network(address), name[:LONGEST_NAME]
        self._of_address.succeeded(address, name)
        self._of_name.succeeded(name, address)


class GuardedLogin:
    """The check of names and passwords, which makes those wait who tried too often."""

    def __init__(self, accepts: Callable[[str, str], Awaitable[bool]]):
        """`accepts` tells whether it is the user's password."""
        self._accepts, self._limits = accepts, LoginLimits()

    async def authenticate(self, user: str, password: str) -> bool:
        """Whether it is the user's password. Raises HTTPException for an attempt that has to wait."""
        address = current_address.get()
        if seconds := self._limits.wait(address, user):
            wait = t(
                "Too many attempts to log in. Try again in {n} second.|"
                "Too many attempts to log in. Try again in {n} seconds.",
                n=seconds,
            )
            raise HTTPException(429, wait, {"retry-after": str(seconds)})
        if is_accepted := await self._accepts(user, password):
            self._limits.succeeded(address, user)
        return is_accepted


def _network(address: str) -> str:
    """Return the address; of IPv6 the network of 64 bits, all of which one machine may use."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
