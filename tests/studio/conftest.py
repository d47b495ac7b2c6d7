"""Gradio is imported as the studio does it: without writing type stubs, which takes half of the time."""

from studio.server import gradio_fast_import

gradio_fast_import.install()
