"""How environments are stepped on this machine."""

import os
from dataclasses import replace

from pipeline.learning.parallel.warp_physics import is_gpu_there
from pipeline.learning.training import TrainingOptions

ENOUGH_PROCESSORS = 4
"""From so many processors on, processes are faster than a GPU, because every world is measured on a processor."""


def on_this_machine(options: TrainingOptions) -> TrainingOptions:
    """Return options with all processors, or with a GPU where there are few, if MuJoCo Warp is installed."""
    processors = len(os.sched_getaffinity(0))
    on_gpu = processors < ENOUGH_PROCESSORS and is_gpu_there()
    return replace(options, processes=min(processors, options.environments), on_gpu=on_gpu)
