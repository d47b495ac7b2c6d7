"""Which matcher decides: what is measured, an encoder alone, or a model that is shown words, pictures or both.

The last four are the rows of table 1 of GRS (Zook et al. 2024); the first is ours.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from pipeline.assets.encoder import LEARNT, Encoder
from pipeline.assets.network import WHEEL
from pipeline.models import Model, reads, sees

Matcher = Literal["all", "embedding", "text", "image", "image+text"]
Asking = Literal["text", "image", "image+text"]
ASKING: tuple[Asking, ...] = get_args(Asking)
"""Those that ask a model, whatever it is measured."""


@dataclass(frozen=True)
class Mode:
    name: Matcher
    title: str
    about: str
    """One line for a person."""


MODES = (
    Mode("all", "All evidence", "Size, outline, relief, colours, prints and the encoder together, learnt weights."),
    Mode("embedding", "Image embedding", "How alike the encoder finds crop and views, and nothing else."),
    Mode("text", "Text", "A model reads the object's description and those of the assets."),
    Mode("image", "Image", "A model looks at the object and at pictures of the assets."),
    Mode("image+text", "Image + text", "A model looks and reads, as in GRS."),
)


def unavailable(matcher: Matcher, model: Model, encoder: Encoder | None) -> str:
    """Why this matcher cannot be used with what there is, and what would help; empty where it can."""
    if matcher not in get_args(Matcher):
        return f"is not known; there are: {', '.join(get_args(Matcher))}"
    if matcher == "embedding" and encoder is None:
        return f"needs an encoder, and there is none; pip install {WHEEL}"
    if matcher in ASKING and not reads(model):
        return "needs a language model; choose one under Models, or with --model openai"
    if matcher in ("image", "image+text") and not sees(model):
        return f"needs a model that sees pictures, and {model.name} sees none"
    return ""


def unlearnt(encoder: Encoder | None) -> str:
    """What to know of scores by an encoder that the weights were not learnt with; empty for the embedded one."""
    if encoder is None or encoder.name == LEARNT:
        return ""
    return (
        f"The encoder {encoder.name} is used with weights and thresholds that were learnt for {LEARNT}: its scores are "
        "uncalibrated, and more or fewer objects than right may be left without an asset. Score it on frames of yours."
    )


def usable(matcher: Matcher, model: Model, encoder: Encoder | None) -> tuple[Matcher, str]:
    """The matcher itself, or all evidence in its place, and why."""
    why = unavailable(matcher, model, encoder)
    return ("all", why) if why else (matcher, "")
