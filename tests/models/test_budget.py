"""What steps cost before they begin, and the ceiling that is never crossed."""

import pytest

from pipeline.models import ModelError, ModelSettings
from pipeline.models.budget import Purse, dollars, estimate_step, price, spent
from pipeline.models.trace import Traced

PRICED = ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10.0)
UNKNOWN = ModelSettings(service="openai", model="mine", base_url="http://127.0.0.1:9/v1")


def test_a_step_is_told_in_one_sentence():
    told = estimate_step(PRICED, "descriptions", 14).sentence
    assert told.startswith("14 objects, about 14 calls, roughly $0.0")


def test_an_unknown_price_stays_unknown():
    assert price(UNKNOWN, "mine") is None
    assert estimate_step(UNKNOWN, "rounds", 3).usd is None
    assert "price unknown" in estimate_step(UNKNOWN, "descriptions", 1).sentence


def test_a_model_of_ones_own_is_not_priced_as_its_namesake():
    assert price(UNKNOWN, "gpt-4o") is None


def test_offline_and_without_pictures_nothing_is_called():
    assert estimate_step(ModelSettings(), "descriptions", 5).calls == 0
    assert estimate_step(ModelSettings(service="openai", pictures=False), "matches", 5).calls == 0


def test_assets_that_nobody_described_cost_a_call_each():
    assert estimate_step(PRICED, "matches", 5, undescribed=7).calls == 12


def test_calls_in_flight_count_against_the_ceiling():
    purse = Purse(1.0)
    first = purse.reserve(0.6)
    with pytest.raises(ModelError, match=r"may cost \$0\.60, and \$0\.60 of the ceiling of \$1\.00"):
        purse.reserve(0.6)
    purse.settle(first, 0.1)
    assert purse.reserve(0.6) == 0.6


def test_a_call_of_unknown_cost_counts_as_the_most_it_can_be():
    purse = Purse(1.0)
    purse.settle(purse.reserve(0.7), None)
    assert purse.spent_usd == pytest.approx(0.7)


def test_dollars_are_never_rounded_to_nothing():
    assert [dollars(usd) for usd in (0, 0.0001, 0.05, 12.3)] == ["$0.00", "less than $0.01", "$0.05", "$12.30"]


def test_what_a_crash_cut_off_counts_with_the_most_it_may_have_cost():
    lines = [
        {"event": "start", "span_id": "a", "may_cost_usd": 0.5},
        {"event": "end", "span_id": "a", "counted_usd": 0.1},
        {"event": "start", "span_id": "b", "may_cost_usd": 0.3},
    ]
    assert spent(lines) == pytest.approx(0.4)


def test_everything_that_asks_about_a_project_pays_out_of_one_purse(tmp_path):
    class Dear:
        name, ceiling_usd = "dear", 1.0

        def memo_key(self, question):
            return ""

    (tmp_path / "trace.jsonl").write_text('{"event": "end", "span_id": "a", "counted_usd": 0.25}\n')
    first, second = (Traced(Dear(), tmp_path / "trace.jsonl") for _ in range(2))
    assert first.purse is second.purse and first.purse.spent_usd == 0.25
