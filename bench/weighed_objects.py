"""`python -m bench.weighed_objects [--model openai]`: whether true masses lie in a model's ranges.

weighed_objects.json holds 50 objects of the YCB set with the masses of its list (Calli et al., "Benchmarking in
Manipulation Research", IEEE RAM 2015), their rough dimensions, captions of ours, and the answers that a capable model
gave to our prompt, once, without pictures. It knew the set by its brands, so its likely values are nearer to the truth
than they will be for other objects.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.categories import default_mass, guess_category, mass_range
from pipeline.description.physical_properties import PhysicalEstimate, WeightAnswer, estimate_physical_properties
from pipeline.models import Model, ModelError, Question
from pipeline.variation import wilson

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, eq=False)
class WeighedObject:
    """An object whose mass is known."""

    about: dict[str, Any]
    """What `physical_properties.question` takes."""
    mass: float
    """In kg."""
    answer: WeightAnswer
    """What the model answered."""


class RecordedModel:
    """Gives the recorded answer to the question about each of these objects."""

    name, has_language = "recorded", True

    def __init__(self, objects: Sequence[WeighedObject]):
        self._answers = {one.about["name"]: one.answer for one in objects}

    def ask(self, question: Question) -> WeightAnswer:
        """Return the answer to the question about an object."""
        return self._answers[question.data["object"]["name"]]


def weighed_objects() -> list[WeighedObject]:
    """Return the objects of weighed_objects.json."""
    return [_weighed(row) for row in json.loads(FILE.read_text("utf-8"))]


def _weighed(row: dict[str, Any]) -> WeighedObject:
    about = {key: row[key] for key in ("caption", "kind", "hollow")}
    about |= {"name": row["name"].replace("_", " "), "size": np.array(row["size_cm"]) / 100}
    return WeighedObject(about, row["true_g"] / 1000, WeightAnswer(**row["answer"]))


def estimated(
    objects: Sequence[WeighedObject], model: Model
) -> Iterator[tuple[WeighedObject, PhysicalEstimate | None]]:
    """Yield each object with what the model says of it; None if its answer is impossible or missing."""
    for one in objects:
        try:
            yield one, estimate_physical_properties(model, one.about, f"object {one.about['name']}")
        except ModelError as error:
            print(f"  {one.about['name']}: {error}", file=sys.stderr)
            yield one, None


def _print(title: str, rows: Sequence[tuple[float, tuple[float, float], float]]) -> None:
    """Print how many true masses lie in their ranges, how wide those are, and how far off the likely mass is."""
    share = wilson(sum(low <= true <= high for true, (low, high), _ in rows), len(rows))
    width = np.median([high / low for _, (low, high), _ in rows])
    off = np.exp(np.median([abs(np.log(likely / true)) for true, _, likely in rows]))
    print(
        f"{title}: {share.successes} of {share.count} masses in the range ({share.low:.0%} to {share.high:.0%}), "
        f"median width {width:.1f} times, likely mass off by {off:.2f} times"
    )


def main(words: Sequence[str]) -> int:
    """Print the shares of the model, and of the table by category that is used without a model."""
    parser = argparse.ArgumentParser(prog="weighed_objects")
    parser.add_argument("--model", default="", help="openai, or empty for the recorded answers")
    chosen, objects = parser.parse_args(words).model, weighed_objects()
    model: Model = RecordedModel(objects)
    if chosen:
        from studio.services.open_services import open_services
        from studio.services.settings import Settings

        model = open_services(Settings.from_environment(model=chosen)).model
    found = list(estimated(objects, model))
    _print(model.name, [(o.mass, e.mass_range, e.mass) if e else (o.mass, (1e9, 1e9), 1e9) for o, e in found])
    table = []
    for one in objects:
        kind = guess_category(one.about["name"], one.about["name"])
        measures = one.about["size"], one.about["hollow"], kind
        table.append((one.mass, mass_range(*measures), default_mass(*measures)))
    _print("table by category", table)
    lengths = [e is not None and e.times_too_long(o.about["size"]) == 1 for o, e in found]
    print(f"{model.name}: {sum(lengths)} of {len(lengths)} lengths in the range")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
