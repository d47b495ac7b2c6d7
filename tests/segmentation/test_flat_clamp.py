"""A flat black clamp on a green board: depth sees only the board, colour sees the clamp."""

from dataclasses import replace

import cv2
import numpy as np

from pipeline.segmentation import DepthSegmenter, Prompt
from pipeline.segmentation.mask_operations import iou

OUTLINE = np.array([(-40, -20), (40, -20), (40, -8), (-26, -8), (-26, 12), (20, 12), (20, 22), (-40, 22)])


def test_one_click_on_a_black_clamp_on_green_is_the_clamp(scene):
    objects = np.logical_or.reduce(list(scene.labels.values()))
    rgb = scene.frame.rgb
    wood = (np.abs(rgb.astype(int) - [150, 110, 70]).sum(-1) < 80) & ~objects
    green = (rgb.mean(-1, keepdims=True) / 110 * [70, 190, 60]).clip(0, 255).astype(np.uint8)
    turn = cv2.getRotationMatrix2D((0, 0), -20, 1)[:, :2]
    clamp = cv2.fillPoly(np.zeros(objects.shape, np.uint8), [(OUTLINE @ turn.T + [430, 330]).astype(np.int32)], 1)
    board = np.where(clamp[..., None] > 0, np.uint8(22), np.where(wood[..., None], green, rgb))
    rgb = cv2.GaussianBlur(board, (0, 0), 0.7) + np.random.default_rng(0).normal(0, 3, rgb.shape)
    view = DepthSegmenter().open(replace(scene.frame, rgb=rgb.clip(0, 255).astype(np.uint8)))
    row, column = np.unravel_index(cv2.distanceTransform(clamp, cv2.DIST_L2, 5).argmax(), clamp.shape)
    mask = view.segment(Prompt(np.array([[column, row]], float), np.array([1])))[0].mask
    assert iou(mask, (clamp > 0) & ~objects) > 0.55
