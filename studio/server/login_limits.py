"""Limits how often a login may be tried, so that passwords cannot be guessed by trying many."""

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

FREE_ATTEMPTS = 5
"""Failed attempts of one address before it has to wait."""
LONGEST_WAIT = 300.0
"""Seconds. The wait begins with one second and doubles with each failed attempt."""
ATTEMPTS_A_MINUTE = 60
"""Attempts of all addresses together."""
ADDRESSES = 1024
"""Addresses that are remembered."""


@dataclass
class _Attempts:
    count: int = 0
    wait_until: float = 0.0


class LoginLimits:
    """Counts attempts by address and in all. An attempt counts as failed until it succeeds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._by_address: OrderedDict[str, _Attempts] = OrderedDict()
        self._recent: deque[float] = deque(maxlen=ATTEMPTS_A_MINUTE)

    def wait(self, address: str) -> int:
        """Count an attempt and return 0; if it may not be made now, return how many seconds to wait."""
        now, key = self._clock(), _network(address)
        attempts = self._by_address.setdefault(key, _Attempts())
        self._by_address.move_to_end(key)
        while len(self._by_address) > ADDRESSES:
            self._by_address.popitem(last=False)
        until = attempts.wait_until
        if len(self._recent) == ATTEMPTS_A_MINUTE:
            until = max(until, self._recent[0] + 60)
        if until > now:
            return math.ceil(until - now)
        self._recent.append(now)
        attempts.count += 1
        if attempts.count >= FREE_ATTEMPTS:
            attempts.wait_until = now + min(2.0 ** (attempts.count - FREE_ATTEMPTS), LONGEST_WAIT)
        return 0

    def succeeded(self, address: str) -> None:
        """Forget the attempts of an address from which someone logged in."""
        self._by_address.pop(_network(address), None)


def _network(address: str) -> str:
    """Return the address; of IPv6 the network of 64 bits, all of which one machine may use."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
