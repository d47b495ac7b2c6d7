"""How well the twin explains the photograph, as the card on the Frame and Scene pages shows it."""

from collections.abc import Iterator
from typing import Any

from pipeline.frame import doubt_registration
from pipeline.object_words import object_words
from pipeline.project.project import UNEXPLAINED
from pipeline.scene.evidence import Evidence, doubts
from studio.sessions.session import Session
from studio.texts import t, translated


def evidence_record(session: Session | None) -> dict[str, Any] | None:
    """Return EvidenceCard's value; None before the twin was measured."""
    evidence = session.project.evidence() if session else None
    if session is None or evidence is None:
        return None
    doubtful, words = doubts(evidence), object_words(session.project)
    token, stamp = session.token, session.cache.stamp(UNEXPLAINED)
    return {
        "doubts": [{"reason": reason, "cure": cure} for reason, cure in translated_doubts(session)],
        "figures": [
            {"name": name, "text": text, "doubtful": term in doubtful} for term, name, text in _figures(evidence)
        ],
        "objects": [translated(words.in_words(reason)) for reason in evidence.objects.values()],
        "photo": f"project/{token}/colour.jpg",
        "unexplained": f"project/{token}/{UNEXPLAINED}?{stamp}",
    }


def translated_doubts(session: Session) -> Iterator[tuple[str, str]]:
    """Yield reason and cure of each doubt about the twin, in the current language, without a full stop."""
    project, evidence = session.project, session.project.evidence()
    of_frame = (*project.frame.doubts, doubt_registration(evidence.edges if evidence else None))
    sentences = {one.line: (one.why, one.cure) for one in of_frame if one}
    for line in project.doubts():
        if line in sentences:
            reason, cure = (translated(sentence).removesuffix(".") for sentence in sentences[line])
        else:
            reason, _, cure = translated(line).partition("; ")
        yield reason, cure


def _figures(e: Evidence) -> Iterator[tuple[str, str, str]]:
    """Yield term, name and text of each figure."""
    yield (
        "explained",
        t("Explained"),
        t("{share} of the pixels about as near as the ground", share=f"{e.explained:.0%}"),
    )
    if e.depth_error is not None:
        yield "depth", t("Depth"), t("{error} cm off", error=f"{100 * e.depth_error:.1f}")
    if e.edges is not None:
        yield "edges", t("Edges"), t("depth and colour agree {factor} times chance", factor=f"{e.edges:.1f}")
    ground = t("{share} certain", share=f"{e.grounds[0]:.0%}") if e.grounds else t("chosen by a person")
    if len(e.grounds) > 1:
        ground += "; " + t("another surface {share}", share=f"{e.grounds[1]:.0%}")
    yield "ground", t("Ground"), ground
    if e.size_ratio is not None:
        yield "sizes", t("Sizes"), t("{factor} times the usual", factor=f"{e.size_ratio:.2g}")
    if e.object_count:
        counts = t("{n} of {count} doubtful", n=len(e.objects), count=e.object_count)
        yield "objects", t("Objects"), counts
