"""Limits of login attempts: the wait grows, is bounded, and costs bounded memory."""

from studio.server import login_limits
from studio.server.login_limits import LoginLimits


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_wait_doubles_with_each_attempt_up_to_a_bound():
    clock = Clock()
    limits, waits = LoginLimits(clock), []
    for _ in range(20):
        if wait := limits.wait("192.0.2.1"):
            waits.append(wait)
            clock.now += wait
            assert limits.wait("192.0.2.1") == 0, "after the wait an attempt may be made"
    assert waits[:4] == [1, 2, 4, 8] and max(waits) == login_limits.LONGEST_WAIT


def test_a_success_forgets_the_attempts():
    limits = LoginLimits(Clock())
    for _ in range(5):
        limits.wait("192.0.2.1")
    assert limits.wait("192.0.2.1") and not limits.wait("192.0.2.2")
    limits.succeeded("192.0.2.1")
    assert not limits.wait("192.0.2.1")


def test_many_addresses_together_are_limited_and_cost_bounded_memory():
    clock = Clock()
    limits = LoginLimits(clock)
    waits = [limits.wait(f"198.51.{n // 250}.{n % 250}") for n in range(5000)]
    assert sum(wait == 0 for wait in waits) == login_limits.ATTEMPTS_A_MINUTE
    assert len(limits._by_address) <= login_limits.ADDRESSES
    clock.now += 60
    assert limits.wait("203.0.113.1") == 0


def test_addresses_of_one_ipv6_network_count_as_one():
    limits = LoginLimits(Clock())
    waits = [limits.wait(f"2001:db8::{n:x}") for n in range(1, 8)]
    assert waits[:5] == [0] * 5 and all(waits[5:])
