"""Rows of numbers in bounded memory: small tables stay in memory, large ones lie in a temporary file."""

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

import numpy as np

IN_MEMORY_BYTES = 1 << 25
BLOCK_ROWS = 1 << 16
"""Rows that are read at a time."""


class Table:
    """Rows of float64 that are appended in blocks and read in slices; `shape` is (rows, columns)."""

    def __init__(self, columns: int) -> None:
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115  (lives as long as the table)
        self._columns, self._rows = columns, 0

    @staticmethod
    def from_array(rows: np.ndarray) -> "Table":
        """Return a table of an array of shape (rows, columns)."""
        array = np.asarray(rows, float)
        table = Table(array.shape[1])
        table.append(array)
        return table

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows, self._columns

    def __len__(self) -> int:
        return self._rows

    def append(self, block: np.ndarray) -> None:
        """Add rows, of shape (n, columns)."""
        if block.ndim != 2 or block.shape[1] != self._columns:
            raise ValueError(f"a block of shape {block.shape} does not fit {self._columns} columns")
        self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(block, np.float64).tobytes())
        self._rows += len(block)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from `start` up to `stop`, of shape (n, columns)."""
        start, stop = max(start, 0), min(stop, self._rows)
        count = max(stop - start, 0) * self._columns
        self._file.seek(start * self._columns * 8)
        return np.frombuffer(self._file.read(count * 8), np.float64).reshape(-1, self._columns)

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row's number and the rows of each block, in order."""
        for start in range(0, self._rows, size):
            yield start, self.rows(start, start + size)

    def column(self, number: int) -> np.ndarray:
        """Return one column, of shape (rows,)."""
        values = np.empty(self._rows)
        for start, block in self.blocks():
            values[start : start + len(block)] = block[:, number]
        return values

    def array(self) -> np.ndarray:
        """Return all rows, of shape (rows, columns)."""
        return self.rows(0, self._rows)
