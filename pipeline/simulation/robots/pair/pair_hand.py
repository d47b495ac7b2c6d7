"""The hands of two arms as one hand of the oracle: each move is made by the arm that reaches both ends of it.

Where neither does, one arm hands the object over: it passes it in the air (air_pass.py) or, where that cannot be
planned or has failed, sets it down at a place that both reach, and the other takes it from there. What no gripper opens
wide enough for is carried between both hands (wide_carry.py). An arm that does not act waits at its home.
"""

from collections.abc import Callable

import numpy as np

from pipeline.simulation import free_space
from pipeline.simulation.goals.goal import Move, PartMotion
from pipeline.simulation.goals.upright import Upright
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.planning_hand import PlanningHand
from pipeline.simulation.robots.pair.air_pass import execute_pass, plan_pass
from pipeline.simulation.robots.pair.wide_carry import WideHold, carry, plan_press, take, why_not_carried

HAND_OVER = "hand over"


class PairHand:
    """Carries one object at a time with one of two arms."""

    def __init__(self, physics: Physics, left: ArmHand, right: ArmHand):
        self.physics, self.hands = physics, (left, right)
        self.gap = left.gap
        self._acting, self._in_air = left, True
        self._onward: Move | None = None
        """The move that the arm makes to which an object is handed over."""
        self._between: WideHold | None = None
        """What is held between both hands."""

    # ------------------------------------------------------------------ which arm

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return at which points (N, 2) one of the arms can set an object down, of shape (N,)."""
        return np.any([hand.reaches(points) for hand in self.hands], axis=0)

    def why_not_picked(self, name: str) -> str:
        """Return why neither arm has a grasp of an object; empty if one has, or if others are in its way."""
        reasons = [hand.why_not_picked(name) for hand in self.nearest_first(self.physics.state()[name].position)]
        if "" in reasons:
            return ""
        return reasons[0] if isinstance(plan_press(self.hands, self.physics.state()[name]), str) else ""

    def nearest_first(self, point: np.ndarray) -> list[ArmHand]:
        """Return both hands, that of the arm nearer to a point (2,) or (3,) first."""
        return sorted(self.hands, key=lambda hand: hand.distance(point))

    def _ends(self, move: Move) -> np.ndarray:
        """Return where the object of a move is, and where it goes, of shape (2, 2)."""
        return np.array([self.physics.state()[move.object].position[:2], move.xy])

    def hand_overs(self, move: Move, attempt: int) -> tuple[Move, ...]:
        """Return the move to a place that both arms reach, where neither reaches both ends; () where one does."""
        self._onward = move
        self._in_air = attempt == 0 and not isinstance(move.goal, Upright)
        ends = self._ends(move)
        reached = np.array([hand.reaches(ends) for hand in self.hands])
        if reached.all(1).any() or not reached.any(0).all():
            return ()
        place = self._shared_place(move)
        return () if place is None else (Move(move.object, place, None, HAND_OVER, "the other arm", move.goal),)

    def _shared_place(self, move: Move) -> np.ndarray | None:
        """Return a free place (2,) of the table well within reach of both arms; None if there is none."""
        state = self.physics.state()
        carried = state[move.object]
        points = free_space.grid(state.table)
        points = points[free_space.inside_region(points, carried, state.table)]
        distances = np.array([np.linalg.norm(points - hand.kinematics.base[:2], axis=1) for hand in self.hands])
        near, far = np.array([hand.arm.reach.places for hand in self.hands]).T[..., None]
        inside = np.minimum(distances - near, far - distances).min(0)
        others = [o for o in state.objects.values() if o.name != move.object]
        # Room around an object that is handed over; the widest that there is
        for gap in (0.05, 0.036, 0.015):
            good = np.flatnonzero((inside > 0) & free_space.fits(points, carried, others, gap))
            if len(good):
                way = np.linalg.norm(points[good] - carried.position[:2], axis=1)
                # 0.04: distance from the rims of both rings from which on one place to hand over is as good as another
                return points[good[int(np.argmax(np.minimum(inside[good], 0.04) - 0.01 * way))]]
        return None

    # ------------------------------------------------------------------ actions of the oracle

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        """Pick up an object with the arm that can also set it down; return why not, empty on success.

        An arm that has moved and failed ends the attempt. Adds to `covers` the object that blocks the first arm.
        """
        if self._acting.held and self._acting.held.name == move.object:
            return ""  # the other arm has passed it
        ends = self._ends(move)

        def cost(hand: ArmHand) -> tuple[bool, float]:
            return not hand.reaches(ends).all(), sum(hand.distance(end) for end in ends)

        hands, began = sorted(self.hands, key=cost), self.physics.time
        failure = self._first_that_can(hands, lambda hand, found: hand.pick(move, attempt, found), covers)
        if failure.startswith("no grasp") and self.physics.time == began and move.object not in covers:
            return self._pick_between(move, failure)
        return failure

    def _pick_between(self, move: Move, refusal: str) -> str:
        """Pick up an object between both hands; return why not, empty on success."""
        target = self.physics.state()[move.object]
        press = plan_press(self.hands, target)
        if isinstance(press, str):
            return f"{refusal}; {press}"
        others = list(self.physics.state().objects.values())
        failure = why_not_carried(press, target, move.xy, others)
        if not failure and not isinstance(self.hands[0], PlanningHand):
            failure = take(press, target)
        self._between = None if failure else WideHold(press, target)
        return failure

    def place(self, move: Move) -> str:
        """Carry the held object to its place, or pass it in the air; return what went wrong, empty on success."""
        if self._between is not None:
            return self._place_between(self._between, move)
        if move.verb == HAND_OVER and self._in_air:
            if not self._pass(move.object):
                return ""
            for hand in self.hands:
                if hand is not self._acting:
                    self._park(hand)
        return self._acting.place(move) if self._acting.held else f"{move.object} was dropped when it was passed"

    def _place_between(self, hold: WideHold, move: Move) -> str:
        self._between, hand = None, self.hands[0]
        if isinstance(hand, PlanningHand):
            hand.put_down(hold.stood, move.xy)
            return ""
        failure = carry(hold, move.xy)
        for one in self.hands:
            self._park(one)
        return failure

    def _pass(self, name: str) -> str:
        """Pass the held object to the other arm in the air; return why not, empty on success."""
        giver = self._acting
        held, stood, taker = giver.held, giver.stood, next(hand for hand in self.hands if hand is not giver)
        if held is None or stood is None or self._onward is None or isinstance(giver, PlanningHand):
            return "nothing is held"
        plan = plan_pass(giver, taker, held, stood, self._onward)
        failure = plan if isinstance(plan, str) else execute_pass(giver, taker, plan, held, stood)
        if not failure:
            self._acting = taker
        return failure

    def pull(self, motion: PartMotion) -> str:
        """Open or shut a part with the nearer arm that can; return why it failed, empty when it did what it could."""
        part = self.physics.state()[motion.object].part(motion.part)
        hands = self.nearest_first(part.corners.mean(0))
        return self._first_that_can(hands, lambda hand, found: hand.pull(motion), {})

    def retreat(self) -> None:
        """Return both arms to their homes."""
        for hand in (self._acting, *self.hands):
            self._park(hand)

    def _first_that_can(
        self, hands: list[ArmHand], act: Callable[[ArmHand, dict[str, str]], str], covers: dict[str, str]
    ) -> str:
        """Let one arm after the other act until one does not fail by planning alone. Return the first failure."""
        failures: list[tuple[str, dict[str, str]]] = []
        for hand in hands:
            for other in self.hands:
                if other is not hand:
                    self._park(other)
            began, found = self.physics.time, dict[str, str]()
            self._acting = hand
            failure = act(hand, found)
            if not failure or self.physics.time > began:
                covers |= found
                return failure
            failures.append((failure, found))
        covers |= failures[0][1]
        return failures[0][0]

    def _park(self, hand: ArmHand) -> None:
        """Return an arm to its home, unless it is there."""
        # Largest error of the commands of an arm that is at its home
        if np.abs(hand.motion.commanded - hand.home).max() > 0.01:
            hand.retreat()
