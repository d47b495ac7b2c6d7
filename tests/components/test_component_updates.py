"""Gradio makes a component again, from its own arguments and `render=False`, when an update leaves it as it is."""

import gradio as gr

from components.adjuster import Adjuster
from components.viewer import Viewer


def test_components_with_arguments_of_their_own_can_be_made_again_as_gradio_does():
    with gr.Blocks():
        made = (Adjuster(lambda request: request, viewer="twin"), Viewer(elem_id="twin"))
    for component in made:
        again = type(component)(**{**component.constructor_args, "render": False})
        assert again.get_config()["elem_id"] == component.get_config()["elem_id"]
