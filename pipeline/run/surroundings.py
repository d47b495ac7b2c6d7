"""The table's picture and the background, drawn beside placing and settling, for the slab that the twin likely gets."""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from pipeline.one_blas_thread import one_blas_thread
from pipeline.scene.mjcf.background import Background, make_background
from pipeline.scene.mjcf.builder import Slab, table_slab
from pipeline.scene.mjcf.table_picture import table_picture
from pipeline.scene.place_objects import SceneInputs
from pipeline.scene.placement import Scene
from pipeline.segmentation import Segment
from pipeline.store import StoreError, atomic_write, digest


class Surroundings(NamedTuple):
    """What a twin shows of the photograph beside its objects."""

    table: bytes | None
    """As of `table_picture`."""
    background: Background | None


class SurroundingsAhead:
    """Draws in a thread of its own until its `with` block ends. Another slab is drawn anew."""

    def __init__(self, inputs: SceneInputs, frame_key: str, cache: Path):
        self._observation, self._segments = inputs.observation, tuple(inputs.segments)
        self._cache, self._frame_key = cache, frame_key
        self._pool = ThreadPoolExecutor(1, "surroundings")
        self._begun: dict[str, Future[Surroundings]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)  # waits, so that nothing is written after the stage

    def begin_as_before(self, former: Scene | None) -> None:
        """Begin to draw for the twin that is about to be replaced, if it was one of the same table."""
        support = self._observation.support
        if former and all(
            np.array_equal(one, other)
            for one, other in (
                (former.table, support.polygon),
                (former.world_from_camera, support.world_from_camera),
            )
        ):
            self.begin(former)

    def begin(self, scene: Scene) -> Future[Surroundings]:
        """Begin to draw for a scene that will have the same slab and objects when it has settled."""
        slab, placed = table_slab(scene), {p.segment_id for p in scene.placements}
        shown = tuple(segment for segment in self._segments if segment.id in placed)
        key = digest(slab.centre, slab.half, slab.yaw, sorted(segment.id for segment in shown))
        if key not in self._begun:
            self._begun[key] = self._pool.submit(self._draw, slab, shown)
        return self._begun[key]

    def _draw(self, slab: Slab, shown: tuple[Segment, ...]) -> Surroundings:
        with one_blas_thread():
            return Surroundings(self._table_picture(slab), make_background(self._observation, shown, slab))

    def _table_picture(self, slab: Slab) -> bytes | None:
        """Return the picture of the table's top, kept in the project's cache while frame, masks and slab stay."""
        masks = (segment.mask_digest for segment in self._segments)
        key = digest("table picture 2", self._frame_key, slab.centre, slab.half, slab.yaw, *masks)
        file = self._cache / f"table-{key}.png"
        with suppress(OSError):
            return file.read_bytes() or None
        picture = table_picture(self._observation, self._segments, slab)
        with suppress(OSError, StoreError), atomic_write(file) as temporary:
            temporary.write_bytes(picture or b"")
        return picture
