"""`grs-studio segment`: masks from clicks and boxes in a file."""

import argparse
from pathlib import Path

from studio.commands.options import DONE, add_segmenter


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("frame", type=Path)
    command.add_argument("--prompts", type=Path, required=True, help='{"objects": [{"id", "points", "box"}]}')
    command.add_argument("--out", type=Path, required=True, help="folder that gets segments/")
    add_segmenter(command)
    command.set_defaults(execute=segment)


def segment(arguments: argparse.Namespace) -> int:
    from pipeline.frame import load
    from pipeline.segmentation import Segment
    from pipeline.segmentation.mask_files import write_segments
    from pipeline.segmentation.prompts import read_prompts
    from studio.services.open_services import open_segmenter
    from studio.services.settings import Settings

    frame = load(arguments.frame)
    prompts = read_prompts(arguments.prompts, frame)
    view = open_segmenter(Settings.from_environment(segmenter=arguments.segmenter)).open(frame)
    best = {id: view.segment(prompt)[0] for id, prompt in prompts.items()}
    segments = [Segment(id, mask.mask, mask.score, mask.source) for id, mask in best.items()]
    write_segments(segments, frame.depth.shape, arguments.out / "segments")
    return DONE
