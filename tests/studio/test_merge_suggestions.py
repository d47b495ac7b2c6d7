"""Suggestions to merge a fragment into its object."""

from studio.objects.merge_suggestions import add_merge_suggestions


def test_a_fragment_is_offered_to_its_object_only_while_it_is_uncertain():
    parent, sure = {"id": 1, "words": "carton", "is_object": True}, {"level": "sure"}
    fragment = {"id": 2, "words": "fragment", "is_object": True, "warnings": ["Only 40 points were measured."]}
    record = add_merge_suggestions([parent, fragment], {2: 1})[1]
    assert (record["probably_part_of"]["id"], record["probably_part_of"]["name"]) == (1, "carton")
    assert "part of carton" in record["mark_note"] and record["warnings"][1:] == fragment["warnings"]
    for other in (fragment | {"confidence": sure}, fragment | {"is_object": False}):
        assert "probably_part_of" not in add_merge_suggestions([parent, other], {2: 1})[1]
    assert "probably_part_of" not in add_merge_suggestions([parent | {"is_object": False}, fragment], {2: 1})[1]
