"""The client against a small server on this machine that stands in for the OpenAI API."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from pydantic import BaseModel

from pipeline.models import ModelError, Question
from pipeline.models.openai_client import OpenAIModel

KEY = "sk-very-secret"


class Colour(BaseModel):
    colour: str
    sure: float


GOOD = '{"colour": "red", "sure": 0.9}'


def completion(text: str) -> tuple[int, str, str]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return 200, "application/json", json.dumps(body)


def fault(status: int, text: str) -> tuple[int, str, str]:
    return status, "application/json", json.dumps({"error": {"message": text}})


@pytest.fixture
def server(tmp_path):
    """Answers with `server.script`, one entry a request, the last one for ever; keeps what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            web.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step = web.script.pop(0) if len(web.script) > 1 else web.script[0]
            if step == "sleep":
                time.sleep(1)
                return
            status, kind, body = step
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.asked, web.script = [], []
    threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
    (tmp_path / "name_colour.md").write_text("What colour is {{thing}}?")
    web.model = lambda timeout=5.0: OpenAIModel(
        "m", f"http://user:pass@127.0.0.1:{web.server_port}/v1", KEY, timeout=timeout, prompts=tmp_path
    )
    yield web
    web.shutdown()
    web.server_close()


def question(**more) -> Question:
    return Question("name_colour", {"thing": "the cube"}, Colour, **more)


@pytest.mark.parametrize("words", [GOOD, f"```json\n{GOOD}\n```", f"Sure! {GOOD} Anything else?"])
def test_a_good_answer_comes_back_as_its_type(server, words):
    server.script = [completion(words)]
    assert server.model().ask(question()) == Colour(colour="red", sure=0.9)
    [asked] = server.asked
    assert "What colour is the cube?" in asked["messages"][0]["content"][0]["text"]
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["colour", "sure"]


def test_pictures_go_along_as_pngs(server):
    server.script = [completion(GOOD)]
    server.model().ask(question(pictures=(np.zeros((4, 6, 3), np.uint8),)))
    picture = server.asked[0]["messages"][0]["content"][1]["image_url"]["url"]
    assert picture.startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize("bad", ["red", '{"colour": "red"}', '{"colour": "red", "sure": "very"}', '{"colour": '])
def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(server, bad):
    server.script = [completion(bad), completion(GOOD)]
    assert server.model().ask(question()).colour == "red"
    assert server.asked[1]["messages"][-2]["content"] == bad
    assert "cannot be used" in server.asked[1]["messages"][-1]["content"]


def test_after_three_useless_answers_the_reply_is_there_to_read(server):
    server.script = [completion("no idea")]
    with pytest.raises(ModelError, match="answered 3 times with what cannot be used") as failure:
        server.model().ask(question())
    assert len(server.asked) == 3
    assert failure.value.raw == "no idea"


def test_a_server_that_knows_no_schemas_is_asked_in_words(server):
    server.script = [fault(400, "response_format is not supported"), completion(GOOD)]
    assert server.model().ask(question()).colour == "red"
    assert "response_format" not in server.asked[1]


def test_a_busy_server_is_asked_again(server):
    server.script = [fault(429, "slow down"), completion(GOOD)]
    assert server.model().ask(question()).colour == "red"


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ((200, "text/html", "<html>hello</html>"), "does not speak the OpenAI API; check GRS_BASE_URL"),
        ((200, "application/json", "<html>"), "check GRS_BASE_URL"),
        ((200, "application/json", "{}"), "check GRS_BASE_URL"),
        (fault(401, f"Incorrect API key: {KEY}"), r"refused the key \(401\); check OPENAI_API_KEY"),
        (fault(404, "no such model"), "has no model m"),
        (fault(400, f"bad request with {KEY}"), "answered 400"),
        ("sleep", "did not answer within 0.3 s; raise GRS_TIMEOUT"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line_without_the_key(server, step, says):
    server.script = [step]
    with pytest.raises(ModelError, match=says) as failure:
        server.model(timeout=0.3 if step == "sleep" else 5).ask(question())
    for text in (str(failure.value), failure.value.raw):
        assert KEY not in text and "user:pass" not in text
    assert "\n" not in str(failure.value)


def test_a_server_that_is_not_there_is_named(tmp_path):
    (tmp_path / "name_colour.md").write_text("{{thing}}")
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9 cannot be reached"):
        OpenAIModel("m", "http://127.0.0.1:9/v1", KEY, timeout=5, prompts=tmp_path).ask(question())


def test_without_a_key_or_a_server_it_says_what_to_set():
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIModel("m")
