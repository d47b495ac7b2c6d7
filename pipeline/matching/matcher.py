"""Names of the matchers, what each needs, and the one that is used if a need is not met.

"all" combines all measured terms and is ours. The others are the rows of table 1 of GRS (Zook et al. 2024).
"""

from dataclasses import dataclass
from typing import Literal, get_args

from pipeline import plugins
from pipeline.assets.appearance.encoder import TRAINED_ENCODER, Encoder
from pipeline.models import Model, has_language, has_vision

MatcherName = str
"""Name of a built-in matcher, or of an installed one ("grs_studio.matchers")."""
ModelMatcherName = Literal["text", "image", "image+text", "paper"]
MODEL_MATCHERS: tuple[ModelMatcherName, ...] = get_args(ModelMatcherName)
"""Matchers that ask a model to choose: among the measured candidates, or, as in GRS, among all assets."""


@dataclass(frozen=True)
class MatcherInfo:
    """Name of a matcher and the text that the app shows for it."""

    name: MatcherName
    title: str
    summary: str
    """One line for the user."""


MATCHERS = (
    MatcherInfo(
        "all", "All evidence", "Size, outline, relief, colours, prints and image embedding, with learned weights."
    ),
    MatcherInfo("embedding", "Image embedding", "Cosine similarity of the crop and rendered views only."),
    MatcherInfo("text", "Text", "A model compares the description of the object with those of the assets."),
    MatcherInfo("image", "Image", "A model compares a picture of the object with pictures of the assets."),
    MatcherInfo("image+text", "Image + text", "A model compares pictures and descriptions of a measured shortlist."),
    MatcherInfo("paper", "As in GRS", "A model gets the crop, its description and the descriptions of all assets."),
)


def all_matchers() -> tuple[MatcherInfo, ...]:
    """Return the built-in matchers and those of installed packages, which may have `title` and `summary`."""
    built_in = {matcher.name for matcher in MATCHERS}
    added = {name: part for name, part in plugins.available("matchers").items() if name not in built_in}
    return MATCHERS + tuple(
        MatcherInfo(name, getattr(part, "title", name), getattr(part, "summary", "Installed matcher."))
        for name, part in added.items()
    )


def why_unavailable(matcher: MatcherName, model: Model, encoder: Encoder | None) -> str:
    """Return why this matcher cannot be used and what to do; empty if it can. The text continues the matcher's name."""
    if matcher not in plugins.entries("matchers"):
        return f"is not known; there are: {', '.join(plugins.entries('matchers'))}"
    if matcher == "embedding" and encoder is None:
        return "needs an encoder, and none is chosen; set GRS_ENCODER=embedded"
    if matcher in MODEL_MATCHERS and not has_language(model):
        return "needs a language model; choose one under Models, or with --model openai"
    if matcher in ("image", "image+text", "paper") and not has_vision(model):
        return f"needs a model that reads pictures, and {model.name} does not"
    return ""


def calibration_warning(encoder: Encoder | None) -> str:
    """Return a warning for an encoder that the weights were not fitted for; empty for the embedded one and for none."""
    if encoder is None or encoder.name == TRAINED_ENCODER:
        return ""
    return (
        f"Scores are uncalibrated: the weights and thresholds were fitted for {TRAINED_ENCODER}, not for "
        f"{encoder.name}. Too many or too few objects may be left without an asset. Evaluate the matcher on "
        "labelled frames of your own."
    )


def usable_matcher(matcher: MatcherName, model: Model, encoder: Encoder | None) -> tuple[MatcherName, str]:
    """Return the matcher and "", or "all" and the reason if the matcher cannot be used."""
    reason = why_unavailable(matcher, model, encoder)
    return ("all", reason) if reason else (matcher, "")
