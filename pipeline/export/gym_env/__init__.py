"""The twin as a Gymnasium environment in a zip that needs mujoco, numpy and gymnasium only.

`environment.py` and `twin_world.py` are copied into the zip with the modules of the pipeline that
measure goals (`package.py`), so an exported environment judges success as the sandbox does.
"""
