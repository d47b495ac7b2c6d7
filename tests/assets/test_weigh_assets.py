"""A model says what new assets weigh and whether their size is believable; what is known is left alone."""

from dataclasses import replace

import pytest
import trimesh
from offline_studio import offline_services

from bench.weighed_objects import RecordedModel, estimated, weighed_objects
from pipeline.assets.importers.asset_import import ImportOptions, import_asset
from pipeline.assets.library import BUILTIN_LIBRARY, Library, read_asset
from pipeline.assets.library_edits import scale
from pipeline.assets.weigh_assets import weigh_assets
from pipeline.description.physical_properties import WeightAnswer
from pipeline.models import ModelError, ModelSettings, StageCancelled
from pipeline.models.in_flight import InFlightCalls
from studio import viewer
from studio.__main__ import main
from studio.library.shared_library import SharedLibrary
from studio.sessions.session_registry import SessionRegistry
from studio.web.jobs import Job

ANSWER = {"lightest_g": 20, "likely_g": 90, "heaviest_g": 200, "least_friction": 0.3, "likely_friction": 0.45,
          "most_friction": 0.8, "shortest_cm": 6, "longest_cm": 14, "reason": "Thin plastic."}  # fmt: skip
FAR, NEAR = "https://models.example/v1", "http://127.0.0.1:9/v1"


class Scale:
    """A model with language that weighs everything alike."""

    name, has_language, has_vision = "scale-1", True, False

    def __init__(self, error: ModelError | None = None):
        self.error, self.asked = error, []

    def ask(self, question):
        self.asked.append(question)
        if self.error:
            raise self.error
        return WeightAnswer(**ANSWER)


@pytest.fixture
def own(tmp_path):
    """A library folder with boxes of 10 cm, one of them of a known mass, and one that is 60 cm long."""
    folder = tmp_path / "user" / "own"
    for id, edge, options in (("tub", 0.1, {}), ("brick", 0.1, {"mass": 2.0}), ("vat", 0.6, {})):
        file = tmp_path / f"{id}.obj"
        trimesh.creation.box([edge, edge / 2, edge / 2]).export(file)
        import_asset(file, folder, ImportOptions(units="m", **options))
    return folder


def weigh(own, *ids, model=None):
    return {one.asset.id: one for one in weigh_assets(own, ids, model or Scale(), InFlightCalls())}


def test_a_new_asset_gets_the_models_ranges_a_stated_mass_stays_and_an_unbelievable_size_is_told(own):
    found = weigh(own, "tub", "brick", "vat")
    tub, brick, vat = (read_asset(own / id) for id in ("tub", "brick", "vat"))
    assert (tub.mass, tub.mass_range, tub.mass_source) == (0.09, (0.02, 0.2), "model scale-1")
    assert (tub.friction, tub.friction_range, tub.friction_source) == (0.45, (0.3, 0.8), "model scale-1")
    assert (brick.mass, brick.mass_source, brick.friction) == (2.0, "person", 0.45)
    assert not found["tub"].warning and not tub.warnings
    said = "it is 60 cm long, but such objects are 6 to 14 cm, says model scale-1: its unit may be wrong"
    assert found["vat"].warning == said == vat.warnings[-1]
    scale(vat, own, 0.1)
    vat = read_asset(own / "vat")
    assert (vat.mass, vat.mass_source) == (0.09, "model scale-1") and not vat.warnings, "it is of the real object"
    again = Scale()
    assert not weigh(own, "tub", "brick", "vat", model=again) and not again.asked, "nothing is a guess any more"


def test_what_the_model_does_not_say_stays_a_guess_and_a_stop_ends_the_questions(own):
    before = (own / "tub" / "asset.json").read_bytes()
    found = weigh(own, "tub", model=Scale(ModelError("the server is away")))
    assert found["tub"].failure == "the server is away" and (own / "tub" / "asset.json").read_bytes() == before
    heavy = Scale()
    heavy.ask = lambda question: WeightAnswer(**ANSWER | {"heaviest_g": 1e9})
    assert "which is impossible" in weigh(own, "tub", model=heavy)["tub"].failure
    with pytest.raises(StageCancelled):
        weigh(own, "tub", model=Scale(StageCancelled("stopped")))


def test_the_command_asks_only_a_model_that_is_named_and_prints_what_it_says(own, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "user"))
    monkeypatch.setattr("studio.commands.library.services_for", lambda _: replace(offline_services(), model=Scale()))
    trimesh.creation.box([0.1, 0.1, 0.1]).export(tmp_path / "pot.obj")
    trimesh.creation.box([0.1, 0.1, 0.2]).export(tmp_path / "jar.obj")
    assert main(["library", "add", str(tmp_path / "pot.obj"), "--units", "m"]) == 0
    assert "says model" not in capsys.readouterr().out
    assert main(["library", "add", str(tmp_path / "jar.obj"), "--units", "m", "--model", "openai"]) == 0
    assert "jar: 20 to 200 g, friction 0.45, says model scale-1" in capsys.readouterr().out
    assert read_asset(own / "jar").mass_source == "model scale-1"


@pytest.mark.parametrize(
    "policy, address, is_asked", [("allow", FAR, True), ("ask", FAR, False), ("never", FAR, False), ("ask", NEAR, True)]
)
def test_an_import_in_the_studio_asks_the_model_in_use_if_it_may(policy, address, is_asked, own, tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "user"))
    model = Scale()
    model.settings = ModelSettings(service="openai", base_url=address)
    services = replace(offline_services(Library.open([BUILTIN_LIBRARY / "banana"])), model=model, send=policy)
    shared = SharedLibrary(SessionRegistry(tmp_path / "work", services), viewer.ViewRegistry())
    job = Job[None]("import", lambda _: None)
    told = shared._weigh(["tub", "vat"], job)
    assert bool(model.asked) == is_asked == ("its unit may be wrong" in told)
    assert (read_asset(own / "tub").mass_source == "model scale-1") == is_asked
    model.error = ModelError("the server is away")
    trimesh.creation.box([0.1, 0.1, 0.1]).export(tmp_path / "cup.obj")
    import_asset(tmp_path / "cup.obj", own, ImportOptions(units="m"))
    said = "1 masses are a guess by size: the server is away"
    assert shared._weigh(["cup"], job) == (said if is_asked else "")


def test_the_recorded_answers_of_a_capable_model_hold_nine_of_ten_true_masses():
    objects = weighed_objects()
    found = list(estimated(objects, RecordedModel(objects)))
    held = [said is not None and said.mass_range[0] <= one.mass <= said.mass_range[1] for one, said in found]
    assert len(objects) == 50 and sum(held) >= 45
