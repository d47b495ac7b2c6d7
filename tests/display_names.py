"""Names that a person may give an object, for laws over all of them."""

from hypothesis import strategies as st

from pipeline.decisions import DecisionError, clean_display_name


def is_display_name(text: str) -> bool:
    try:
        return clean_display_name(text) is not None
    except DecisionError:
        return False


NAMES = st.text(min_size=1, max_size=60).filter(is_display_name) | st.sampled_from(
    ["Grandma's mug", "Omas Lieblingstasse", "👩‍🔬 Becher", "杯子", "كوب", "A_B_drawer", "the boss", "cube", "x" * 60]
)
