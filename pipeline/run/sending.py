"""Consent: nothing of a project goes to another machine before somebody allowed it."""

from pipeline.models import Model
from pipeline.models.destination import SendPolicy, destination_of
from pipeline.project import Project

WHAT_IS_SENT = (
    "the photograph with its objects outlined and numbered, a crop of each object, pictures, names and descriptions of "
    "library assets, names, colours, sizes and places of the objects, the task and the programs, and solved "
    "programs of other projects in the workspace as examples"
)
"""Everything of a project that questions to a model contain. Depth, file names and the project's name are not sent."""


def may_send(project: Project, model: Model, policy: SendPolicy) -> bool | None:
    """Whether questions about a project may go to the model's server; None if that is undecided.

    A model inside the studio needs no decision.
    """
    destination = destination_of(model)
    return destination is None or may_send_to(project, destination.address, destination.is_this_machine, policy)


def may_send_to(project: Project, address: str, is_this_machine: bool, policy: SendPolicy) -> bool | None:
    """Whether a project may go to the server at an address (scheme, host and port); None if that is undecided.

    The user's decision about that server comes before the policy "allow". A server on this machine needs no decision.
    """
    if policy == "always":
        return True
    if policy == "never" and not is_this_machine:
        return False
    decided = [one.data["allow"] for one in project.active_decisions("send") if one.data["server"] == address]
    if decided:
        return bool(decided[-1])
    return True if policy == "allow" or is_this_machine else None
