"""Messages, pickles and pictures of policy protocols come back as they were; what is none is refused, and never run."""

import pickle
import sys
from types import ModuleType
from typing import Any

import groot_codec
import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pipeline.closed_loop.interfaces import InterfaceError, built_in, read_interface
from pipeline.closed_loop.interfaces.interface import Entry
from pipeline.closed_loop.interfaces.translation import picture_for
from pipeline.closed_loop.protocols import lerobot_data as lerobot
from pipeline.closed_loop.protocols.messages import MessageError, pack, unpack
from pipeline.closed_loop.protocols.plain_pickle import Call, PickleError, dumps, loads

KEYS = st.text(max_size=5).filter(lambda key: not key.startswith("__"))
ARRAYS = st.one_of(arrays(kind, st.tuples(st.integers(0, 3), st.integers(1, 4)), elements=st.integers(0, 1))
                   for kind in ("<f4", "<f8", "u1", "<i8", "?"))  # fmt: skip
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(), ARRAYS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8,
)  # fmt: skip


@given(VALUES, st.sampled_from(["openpi", "groot", "vla-eval"]))
def test_a_message_comes_back_as_it_was_sent(value, style):
    back = unpack(pack(value, style), style)
    np.testing.assert_equal(back, value)
    assert pack(back, style) == pack(value, style), "of the same kinds of numbers"
    if style == "groot":
        assert pack(value, style) == groot_codec.to_bytes(value), "byte for byte"


ARRAY = {"__ndarray__": True, "data": b"\0" * 8, "dtype": "<f8", "shape": [1]}


@pytest.mark.parametrize("data", [
    b"\xc1", "text", b"\x81" * 3000, pack(ARRAY | {"shape": [10**15]}, "vla-eval"), b"\x91" * 40 + b"\xc0",
    pack(ARRAY | {"dtype": "O"}, "vla-eval"),
    pack(ARRAY | {"shape": [-1]}, "vla-eval"), pack(ARRAY | {"dtype": "<f8," * 9}, "vla-eval"), b"\xdd\xff\xff\xff\xff",
    pack({"__image__": True, "format": "png", "data": b"GIF89a"}, "vla-eval"),
])  # fmt: skip
def test_bytes_that_are_no_message_are_refused_before_they_take_memory(data):
    with pytest.raises(MessageError):
        unpack(data, "vla-eval")


def test_an_array_whose_file_claims_more_than_it_has_is_refused():
    file = bytearray(groot_codec.encode(np.zeros(4))["as_npy"])
    claims = bytes(file).replace(b"(4,), }" + b" " * 12, b"(4000000000000,), }", 1)
    assert claims != bytes(file)
    for data in (bytes(file[:-1]), claims, bytes(file).replace(b"(4,)", b"(((("), b"\x93NUMPY\x01\0\xff\xff", b""):
        with pytest.raises(MessageError):
            unpack(pack({"__ndarray_class__": True, "as_npy": data}, "groot"), "groot")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)), max_leaves=10,
)  # fmt: skip


@given(PLAIN, st.integers(3, 5))
def test_plain_data_are_read_from_every_pickle_and_written_as_one(value, protocol):
    assert loads(pickle.dumps(value, protocol)) == value
    assert pickle.loads(dumps(value)) == value


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('it was run')",)


def test_a_pickle_is_never_run_and_what_is_not_data_is_named():
    assert loads(pickle.dumps([Evil()])) == [Call("builtins.exec", ("raise SystemExit('it was run')",))]
    for data, words in (
        (pickle.dumps([Evil()]), "a TimedAction is expected"),
        (b"\x80\x04]r\xff\xff\xff\xff.", "a list of 1 to 500"),  # a memo that CPython's reader makes room for
        (b"\x80\x04\x8d" + b"\xff" * 8, "broken"), (b"", "broken"), (b"(" * 100, "broken"), (b"\x80\x040.", "part POP"),
        (b"cos\nsystem\n(S'x'\ntR.", "part STRING"), (b"\x80\x04]" + b"2" * 10 + b"e.", "part DUP"),
    ):  # fmt: skip
        with pytest.raises(PickleError, match=words):
            lerobot.read_actions(data)


def test_actions_are_read_as_torch_pickles_them_and_ours_are_read_by_it(monkeypatch):
    torch = pytest.importorskip("torch")
    module = ModuleType(lerobot.HELPERS)
    for name in ("lerobot", "lerobot.async_inference"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, lerobot.HELPERS, module)
    for name in ("TimedAction", "TimedObservation", "RemotePolicyConfig"):
        setattr(module, name, type(name, (), {"__module__": lerobot.HELPERS}))

    def timed(action: Any) -> Any:
        one = module.TimedAction()  # type: ignore[attr-defined]
        one.action, one.timestep, one.timestamp = action, 0, 0.0
        return one

    chunk = torch.arange(12.0).reshape(4, 3)
    for rows in (chunk, chunk.double(), chunk.half(), chunk.T):
        assert np.array_equal(lerobot.read_actions(pickle.dumps([timed(row) for row in rows])), rows.double().numpy())
    for action, words in ((chunk.int()[0], "storage of floats"), (chunk, "one axis"), ([1.0], "tensor is expected")):
        with pytest.raises(PickleError, match=words):
            lerobot.read_actions(pickle.dumps([timed(action)]))
    (first, second) = pickle.loads(lerobot.written_actions(np.arange(6.0).reshape(2, 3), 1.0, 7, 15))
    assert second.action.tolist() == [3, 4, 5] and (first.timestep, second.timestep) == (7, 8)
    seen = {"a": np.float32(1.5), "photo": np.zeros((4, 5, 3), np.uint8), "task": "Stack."}
    state = {"dtype": "float32", "names": ["a"]}
    features = {"observation.state": state, "observation.images.photo": {"dtype": "image"}}
    for protocol in (4, 5):
        found = lerobot.message_of(loads(pickle.dumps(seen, protocol)), features)
        assert found["observation.state"].tolist() == [1.5] and found["task"] == "Stack."
        assert np.array_equal(found["observation.images.photo"], seen["photo"])
    observation = {"observation.images.photo": seen["photo"], "observation.state": np.ones(2)}
    raw, described = lerobot.robot_observation(observation)
    back = pickle.loads(dumps(raw))
    assert np.array_equal(back["photo"], seen["photo"]) and described["observation.state"]["shape"] == (2,)


def test_a_file_of_an_interface_says_what_is_wrong_with_it(tmp_path):
    assert built_in() == ("aloha", "droid", "groot", "lerobot", "libero", "vla_eval")
    file, good = tmp_path / "mine.toml", (twins.ROOT / "pipeline/closed_loop/interfaces/droid.toml").read_text()
    for text, words in (
        ("rate_hz = [", "cannot be read"),
        (good.replace("rate_hz = 15", "rate_hz = 0"), "rate_hz: "),
        (good.replace('"gripper", count = 1 }', '"hand" }', 1), "observation.3.values.0.read: "),
        (good.replace('text = "instruction"', ""), "needs one of camera, text and values"),
        (good + "speed = 3", "action.0.speed: "),
        ("a = " + "[" * 5000 + "]" * 5000, "cannot be read"),
    ):
        file.write_text(text)
        with pytest.raises(InterfaceError, match=rf"\A.*({words}).*\Z"):
            read_interface(str(file))
    with pytest.raises(InterfaceError, match="there is no interface 'moon'; there are: aloha"):
        read_interface("moon")


def test_a_picture_keeps_its_aspect_on_black_and_comes_back_as_it_was():
    picture = np.full((48, 64, 3), 200, np.uint8)
    picture[:, :32] = 10
    entry = Entry(key=["image"], camera="photo", size=[64, 64], drawn=[64, 48], mirrored=True, channels_first=True)
    found = picture_for(entry, picture)
    assert found.shape == (3, 64, 64) and not found[:, :8].any() and not found[:, 56:].any()
    assert (found[:, 30, 5], found[:, 30, 60]) == (pytest.approx(200), pytest.approx(10))
