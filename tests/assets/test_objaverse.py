"""One thing of Objaverse by its id, from a stand-in for its server: its terms first, and only then the thing."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trimesh

from pipeline.assets import AssetError
from pipeline.assets.importing import bring_in
from pipeline.assets.importing_apart import objaverse_apart
from pipeline.assets.objaverse import fetch, look_up, uid_in

UID = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def kept_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def served(tmp_path) -> Path:
    """A folder laid out as Objaverse is, for a file address."""
    top = tmp_path / "objaverse"
    (top / "glbs" / "000-001").mkdir(parents=True)
    (top / "metadata").mkdir()
    trimesh.creation.box((0.08, 0.05, 0.1)).export(top / "glbs" / "000-001" / f"{UID}.glb")
    paths = {UID: f"glbs/000-001/{UID}.glb", "f" * 32: "../../etc/passwd"}
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps(paths).encode()))
    user = {"displayName": "Ada", "username": "ada7"}
    about = {UID: {"name": "Tea tin", "license": "by-nc", "user": user, "archives": {"glb": {"size": 1234}}}}
    (top / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top


@pytest.fixture
def answering() -> Iterator[dict]:
    """A server that answers each path as it is told: (status, bytes, length it claims); "" tells its address."""
    replies: dict = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body, length = replies.get(self.path, (404, b"", 0))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    replies[""] = f"http://127.0.0.1:{server.server_port}"
    yield replies
    server.shutdown()


def test_a_thing_comes_in_by_its_id_with_its_name_author_and_licence(served, tmp_path):
    thing = look_up(UID, served.as_uri())
    assert (thing.name, thing.size) == ("Tea tin", 1234) and "not for commercial use" in thing.terms
    assert not list(tmp_path.rglob(f"{UID}.glb"))[1:], "its terms are known before it is fetched"
    told: list[float] = []
    source = fetch(thing, tmp_path, served.as_uri(), lambda what, share: told.append(share))
    asset = bring_in(source, tmp_path / "library", thing.told).asset
    assert asset.licence == "CC BY-NC 4.0 (Ada, by way of Objaverse)"
    assert (asset.name, asset.provenance) == ("Tea tin", f"Objaverse {UID}") and told[-1] == 1
    assert sorted(asset.size) == pytest.approx([0.05, 0.08, 0.1], abs=1e-3)


def test_the_id_is_found_in_the_address_of_its_page():
    assert uid_in(f" https://sketchfab.com/3d-models/tea-tin-{UID.upper()}?x=1 ") == UID


@pytest.mark.parametrize(
    "short, name, said",
    [
        ("by", "CC BY 4.0", "named"),
        ("by-nc-sa", "CC BY-NC-SA 4.0", "same terms"),
        ("cc0", "CC0 1.0", "no conditions"),
        ("editorial", "editorial", ""),
        ("", "unknown", ""),
    ],
)
def test_licences_are_told_by_their_names_and_in_plain_words(served, short, name, said):
    (served / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps({UID: {"license": short}}).encode()))
    thing = look_up(UID, served.as_uri())
    assert thing.licence.startswith(name) and said in thing.terms and bool(said) == bool(thing.terms)


@pytest.mark.parametrize(
    "uid, said",
    [("mug", "no id of Objaverse"), ("a" * 32, "nothing with the id"), ("f" * 32, "nothing with the id")],
)
def test_what_is_no_thing_of_objaverse_is_said_in_one_line(served, uid, said):
    with pytest.raises(AssetError, match=said) as told:
        look_up(uid, served.as_uri())
    assert "\n" not in str(told.value)


def test_without_a_way_to_objaverse_it_says_so():
    with pytest.raises(AssetError, match="is this machine online") as told:
        look_up(UID, "http://127.0.0.1:9")
    assert "urlopen" not in str(told.value)


@pytest.mark.parametrize(
    "reply, said",
    [
        ((404, b"", 0), "no such file any more"),
        ((200, b"<html>", 6), "no table of Objaverse"),
        ((200, b"half", 900), "broke off|cannot be reached"),
        ((200, b"", 500 << 20), "more than 400 MB"),
    ],
)
def test_whatever_the_server_answers_is_said_in_one_line_and_nothing_bad_is_kept(answering, reply, said, tmp_path):
    answering["/object-paths.json.gz"] = reply
    with pytest.raises(AssetError, match=said) as told:
        look_up(UID, answering[""])
    assert "\n" not in str(told.value) and not [one for one in (tmp_path / "cache").rglob("*") if one.is_file()]


def test_in_the_app_its_terms_are_an_offer_and_it_comes_in_once_that_is_agreed_to(served, tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_OBJAVERSE", served.as_uri())

    def last(agreed: bool):
        return list(objaverse_apart(UID, agreed, tmp_path / "library", threading.Event()))[-1]

    offer = last(False).offer
    assert offer == {
        "name": "Tea tin", "licence": "CC BY-NC 4.0 (Ada, by way of Objaverse)", "size": 1234,
        "terms": "its author must be named; not for commercial use",
    }  # fmt: skip
    assert not (tmp_path / "library").exists()
    done = last(True)
    assert done.id == "objaverse_01234567" and "longest side" in done.wrong[-1]
