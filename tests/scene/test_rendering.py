"""Renderers of one thread share OpenGL contexts, one after the other."""

import mujoco
import numpy as np

from pipeline.scene.rendering import open_renderer, run_in_render_thread

COLOURS = "1 0 0 1", "0 0 1 1"
MODEL = '<mujoco><worldbody><geom type="sphere" size=".3" rgba="{}"/></worldbody></mujoco>'


def test_two_renderers_draw_what_each_alone_draws_and_the_next_one_takes_over_a_context():
    models = [mujoco.MjModel.from_xml_string(MODEL.format(colour)) for colour in COLOURS]

    def drawn(*models: mujoco.MjModel) -> tuple[list[np.ndarray], list[object]]:
        renderers = [open_renderer(model, (64, 48)) for model in models]
        for model, renderer in zip(models, renderers, strict=True):
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data)
        pictures = [renderer.render() for renderer in (*renderers, *renderers)]
        contexts = [renderer._gl_context for renderer in renderers]
        for renderer in renderers:
            renderer.close()
        return pictures, contexts

    (red, _), first = run_in_render_thread(drawn, models[0])
    (blue, _), second = run_in_render_thread(drawn, models[1])
    both, two = run_in_render_thread(drawn, *models)
    assert first == second and len({*two}) == 2 and {*second} <= {*two}
    assert not np.array_equal(red, blue)
    assert all(np.array_equal(picture, alone) for picture, alone in zip(both, [red, blue] * 2, strict=True))
