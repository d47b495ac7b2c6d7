"""The questions that would be asked about a project, written down instead of sent."""

import base64
from contextlib import suppress
from typing import Any

import numpy as np
from pydantic import BaseModel

from pipeline.description.missed_objects import find_missed
from pipeline.description.model_description import describe_with_model
from pipeline.matching import Query
from pipeline.matching.model import choose_with_model
from pipeline.models import ModelError, Question
from pipeline.models.client.openai_client import OpenAIModel
from pipeline.models.images import encode_jpeg, fit_to_side
from pipeline.models.settings import ModelSettings
from pipeline.run.scene_context import numbered_photograph
from studio.sessions.session import Session

GROUPS = {
    ("task", 0): "Photograph, objects numbered",
    ("find_missed", 0): "Photograph, masks numbered",
    ("describe_segment", 1): "Photograph, one object outlined",
    ("describe_segment", 0): "One object alone",
    ("choose_match", 1): "Photograph, one object outlined",
    ("choose_match", 2): "Library assets, rendered",
}
"""Title of each group of pictures, by kind of question and the picture's place in it."""


class QuestionRecorder:
    """A model that writes questions down and answers none."""

    name, has_vision = "preview", True

    def __init__(self):
        self.questions: list[Question] = []

    def ask(self, question: Question) -> BaseModel:
        """Record the question. Raises ModelError, always."""
        self.questions.append(question)
        raise ModelError("This question is only shown, not asked.")


def next_questions(session: Session) -> list[Question]:
    """Return the questions about objects that a model with vision would be asked next, made as the stages make them."""
    project, services, recorder = session.project, session.services, QuestionRecorder()
    segments = {segment.id: segment for segment in project.segments() or ()}
    descriptions = {one.segment_id: one for one in project.descriptions() or () if one.segment_id in segments}
    for id, measured in descriptions.items():
        describe_with_model(project.frame, segments[id], measured, recorder, list(segments.values()))
    with suppress(ModelError):
        find_missed(project.frame, list(segments.values()), recorder)
    for match in project.matches() or ():
        if match.segment_id in descriptions:
            query = Query(project.observation, segments[match.segment_id], descriptions[match.segment_id])
            choose_with_model(recorder, query, match, services.library, services.cards_folder)
    return recorder.questions


def pictures_by_group(session: Session, questions: list[Question]) -> dict[str, list[np.ndarray]]:
    """Return every picture (H, W, 3), uint8, of these questions and of those about tasks, in the size that is sent."""
    settings = getattr(session.services.model, "settings", ModelSettings())
    groups: dict[str, list[np.ndarray]] = {title: [] for title in GROUPS.values()}
    titled = [(GROUPS["task", 0], picture) for picture in numbered_photograph(session.project, QuestionRecorder())[0]]
    for question in questions:
        pictures = enumerate(question.pictures)
        titled += [(GROUPS[question.kind, k], one) for k, one in pictures if (question.kind, k) in GROUPS]
    for title, picture in titled if settings.pictures else ():
        groups[title].append(fit_to_side(picture, settings.picture_side))
    return groups


def preview(session: Session) -> dict[str, Any]:
    """Return {pictures: [{title, thumbnails}], text}: thumbnails as data URLs, and the first question's text."""
    questions, model = next_questions(session), session.services.model
    groups = pictures_by_group(session, questions)
    return {
        "pictures": [
            {"title": title, "thumbnails": [_thumbnail(picture) for picture in pictures]}
            for title, pictures in groups.items()
            if pictures
        ],
        "text": model.prompt_text(questions[0]) if questions and isinstance(model, OpenAIModel) else "",
    }


def _thumbnail(picture: np.ndarray) -> str:
    # Longer side of a thumbnail in pixels
    data = encode_jpeg(fit_to_side(picture, 200))
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
