"""The English texts in the source, as the catalogues of studio/texts/ have to translate them.

    python scripts/source_texts.py de     # prints, as JSON, the texts that de.json lacks

Placeholders in the templates of messages are written {}: what they are called matters in the arguments of `t` only.
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
TERMINAL = (
    "commands/", "batch/", "__main__.py", "accounts/passwords.py", "accounts/user_file.py", "accounts/watched_file.py",
    "bounded.py", "serve.py", "services/open_services.py", "services/settings.py", "web/access.py",
)  # fmt: skip
"""Parts of studio/ that write to the terminal or to files, in English."""
GRADIO_TEXTS = {"Button": "value", "HTML": "value", "Textbox": "placeholder", "File": "label", "Dropdown": "choices"}
TABLES = (
    "STAGE_TITLES",
    "STATE_LABELS",
    "CALL_TITLES",
    "REMEDIES",
    "STEPS",
    "AGES",
    "NOTE",
    "MODES",
    "NO_SOLUTION",
    "TERM_NAMES",
    "SUBTASK_TITLES",
    "ZONE_WORDS",
)
"""Tables of texts at the top of modules of studio/, translated where they are used."""
JS_CALL = re.compile(r"""(?:\b(?:t|fact|tickBox)\(\s*|<\$\{Fact\} name=)("(?:[^"\\]|\\.)*")""")
NOTE = re.compile(r"[A-Z][^\n]* [^\n]*[^.\n ]\.|[A-Z][^\n]*: check\.")
ERROR = re.compile(r"(Error|Refused|HTTPException)$")


def page_texts() -> set[str]:
    """Return the texts of the pages: what `t` is called with, Gradio's components, markup and tables of texts."""
    found = set()
    for path in _files("static", "*.js"):
        if path.name == "texts.js":
            continue
        found |= {json.loads(literal) for literal in JS_CALL.findall(path.read_text(encoding="utf-8"))}
    for path in _files("static", "*.html"):
        found |= set(markup_texts(path.read_text(encoding="utf-8")))
    for path in _files("studio", "*.py"):
        found |= set(_python_texts(ast.parse(path.read_text(encoding="utf-8"))))
    return {text for text in found | goal_texts() if re.search(r"[^\W\d_]{2}", text)}


def goal_texts() -> set[str]:
    """Return the words of the task builder's forms, and of the containers that a task can add."""
    from pipeline.planner.goal_forms import goal_forms
    from pipeline.planner.scene_objects import NEW_CONTAINERS

    return {form.words for form in goal_forms()} | {name.capitalize() for name in NEW_CONTAINERS}


def error_templates() -> set[str]:
    """Return the messages of errors that studio/ raises and shows in the page, with {} for what is filled in."""
    found = set()
    for path in _files("studio", "*.py"):
        if any(str(path.relative_to(ROOT / "studio")).startswith(part) for part in TERMINAL):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and ERROR.search(_name(node.exc.func)):
                found |= {template for one in node.exc.args if (template := _template(one))}
    return {text for text in found if " " in text}


def frame_notes() -> set[str]:
    """Return the sentences in pipeline/frame that become notes and doubts of a frame, with {} for what is filled in."""
    found = set()
    for path in _files("pipeline/frame", "*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = {id(one) for node in ast.walk(tree) if isinstance(node, ast.Raise) for one in ast.walk(node)}
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in raised | documents:
                found.add(_template(node))
    return {text for text in found if NOTE.fullmatch(text)}


def all_templates() -> set[str]:
    """Return every literal of the code, with {} for what is filled in; each form of a text with two forms."""
    found = set()
    for folder in ("studio", "pipeline", "components"):
        for path in _files(folder, "*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant | ast.JoinedStr) and (template := _template(node)):
                    found.add(template)
    return found | {unnamed(text) for text in page_texts()}


def unnamed(text: str) -> str:
    """Return a text with its placeholders' names taken away."""
    return re.sub(r"\{\w+\}", "{}", text)


def numbered(template: str) -> str:
    """Return a template with its placeholders numbered from 1."""
    numbers = itertools.count(1)
    return re.sub(r"\{\}", lambda _: f"{{{next(numbers)}}}", template)


def markup_texts(markup: str) -> Iterator[str]:
    """Yield the texts of HTML: between tags, and of the attributes that people read or hear."""
    parser = _Texts()
    parser.feed(markup)
    yield from filter(None, map(str.strip, parser.texts))


class _Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag if tag in ("script", "style", "title") else ""
        self.texts += [value or "" for name, value in attrs if name in ("title", "aria-label", "alt")]

    def handle_endtag(self, tag: str) -> None:
        self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(" ".join(data.split()))


def _python_texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "t" and node.args:
            yield from _constants(node.args[:1])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _name(node.func.value) == "gr":
            wanted = GRADIO_TEXTS.get(node.func.attr)
            values = [word.value for word in node.keywords if word.arg == wanted]
            values += node.args[:1] if wanted in ("value", "choices") else []
            for text in _constants(values) if wanted else ():
                yield from markup_texts(text) if text.startswith("<") else [text]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(_name(target) in TABLES for target in targets) and getattr(node, "value", None):
            yield from (text for text in _constants([node.value]) if re.search(r"[A-Z ]", text))  # type: ignore[attr-defined]


def _constants(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Dict):
            yield from _constants(node.values)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            yield from filter(None, [numbered(_template(node))])
        else:
            yield from _constants(ast.iter_child_nodes(node))


def _template(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    return ""


def _name(node: ast.AST | None) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def _files(folder: str, pattern: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob(pattern)) if "vendor" not in path.parts]


if __name__ == "__main__":
    known = json.loads((ROOT / "studio" / "texts" / f"{sys.argv[1]}.json").read_text(encoding="utf-8"))
    lacking = page_texts() - known.keys()
    lacking |= (error_templates() | frame_notes()) - {unnamed(text) for text in known}
    print(json.dumps(dict.fromkeys(map(numbered, sorted(lacking)), ""), ensure_ascii=False, indent=0))
