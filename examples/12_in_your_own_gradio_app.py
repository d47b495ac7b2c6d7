"""A project's masks and twin in a Gradio app of your own: `python examples/12_in_your_own_gradio_app.py PROJECT`."""

import sys

import gradio as gr
import uvicorn

import grs_studio

(folder,) = sys.argv[1:]
widgets = grs_studio.widgets(folder)
with gr.Blocks(title="My lab") as page:
    gr.Markdown("## Correct a mask, and the twin follows")
    with gr.Row():
        widgets.mask_canvas()
        widgets.viewer()
uvicorn.run(widgets.app(page), host="127.0.0.1", port=7870, log_level="warning")
