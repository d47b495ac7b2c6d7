"""Texts of Gradio's own components, such as the label of a button: set in the person's language when a page opens.

Gradio makes its components once, for everybody; pages write their texts in English.
"""

import re
from typing import Any

import gradio as gr
from gradio.blocks import Block

from studio.pages.page_shell import Shell
from studio.texts import t, translated

PROPERTIES: dict[type, tuple[str, ...]] = {
    gr.Button: ("value",),
    gr.HTML: ("value",),
    gr.Textbox: ("placeholder", "label"),
    gr.File: ("label",),
    gr.Dropdown: ("choices", "label"),
}
"""Properties with a text that a person reads, of every kind of component that the pages use."""


def show_static_texts(shell: Shell, blocks: gr.Blocks) -> None:
    """Show the texts of all components of the page in the person's language. Call it when all pages are built."""
    for block in list(blocks.blocks.values()):
        texts = {name: getattr(block, name, None) for name in PROPERTIES.get(type(block), ())}
        if any(texts.values()):
            shell.show_text(block, lambda _, block=block, texts=texts: _in_language(block, texts))


def _in_language(block: Block, texts: dict[str, Any]) -> Block:
    return type(block)(**{name: _translated(text) for name, text in texts.items() if text})


def _translated(text: Any) -> Any:
    if isinstance(text, list):  # choices, each with its label and its value
        return [(t(label), value) for label, value in text]
    if text.startswith("<"):
        return re.sub(r">([^<]+)<", lambda between: f">{t(between[1])}<", text)
    return translated(text)
