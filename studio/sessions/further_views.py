"""Further views of a project's table: frames of its recording that a person chose beside the main one."""

from collections.abc import Iterator, Sequence
from contextvars import copy_context
from typing import Any

import numpy as np

from pipeline.frame import Frame, Recording
from pipeline.project.project_views import MAX_VIEWS, place_views, recorded_view
from studio.sessions.session import Session
from studio.texts import t
from studio.web.background import computing
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing


def checked_views(message: object, index: int) -> tuple[int, ...]:
    """Return the numbers of the further frames that a page chose. Raises RequestError."""
    numbers = message if isinstance(message, list) else None
    if numbers is None or not all(isinstance(one, int) for one in numbers) or len(numbers) > MAX_VIEWS:
        raise RequestError(f"Further views are up to {MAX_VIEWS} frames, by their numbers; choose them again.")
    return tuple(dict.fromkeys(number for number in numbers if number != index))


def use_views(session: Session, recording: Recording, index: int, numbers: Sequence[int]) -> Job[None]:
    """Register frames as further views in the background, and decide on those whose camera's place is sure.

    The twin is made of the main frame meanwhile. The log says what became of each frame.
    """
    context, project = copy_context(), session.project

    def tell(job: Job[None]) -> None:
        if job.state == "failed":
            session.log.add(t("Further views are not used: {why}", why=job.message), "bad")
        elif job.state == "stopped":
            session.log.add(t("Further views are not used: stopped."), "bad")

    listing = Listing("views", lambda name=project.name: t("Further views of {project}", project=name), project.folder)
    work = lambda job: context.run(_use, job, session, recording, index, numbers)  # noqa: E731
    return Job[None]("views", work, on_end=tell, listing=listing).start()


def _use(job: Job[None], session: Session, recording: Recording, index: int, numbers: Sequence[int]) -> None:
    rows: list[dict[str, Any]] = []

    def views() -> Iterator[tuple[str, Frame, np.ndarray | None]]:
        for number in numbers:
            if job.stopping:
                return
            yield recorded_view(recording, index, number)

    job.of = len(numbers)
    with computing:
        used = 0
        for line in place_views(session.project, views(), rows):
            job.done, job.message = job.done + 1, line
            session.log.add(line, "machine" if len(rows) > used else "bad")
            used = len(rows)
    if rows and not job.stopping:
        session.decisions.record("views", views=rows)
