"""open_sweep: what ``mdf-run --sweep FILE -o RESULTS.zarr`` wrote, read chunk by chunk; as Parquet or NetCDF-4 too."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .sweeping import SweepResult


def open_sweep(path: str | os.PathLike) -> StoredSweep:
    """The results of a sweep that `mdf-run` has written, or is writing, to a folder.

    Parameters
    ----------
    path
        The folder ``RESULTS.zarr``.

    Raises
    ------
    FileNotFoundError
        There is no such folder, or it is not one of a sweep.
    """
    return StoredSweep(Path(path))


class StoredSweep:
    """Results of a sweep in a folder. Nothing is held in memory but what is asked for.

    Attributes
    ----------
    path : pathlib.Path
    about : dict
        What the folder says of itself: instances, chunk, chunks, combine, every, model, graph, swept, recorded, fingerprint.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = json.loads((path / ".zattrs").read_text())["mdf_sweep"]
        self._arrays = {name: json.loads((path / name / ".zarray").read_text()) for name in self._names()}

    def _names(self) -> list[str]:
        return [*self.about["swept"], "step", "time", "seed", *self.about["recorded"]]

    def __len__(self) -> int:
        return self.about["instances"]

    def __repr__(self) -> str:
        missing = len(self.missing())
        state = "complete" if not missing else f"{missing} of {self.about['chunks']} chunks missing"
        return f"<mdf_c.StoredSweep of {len(self)} instances ({state}): {', '.join(self.about['recorded'])}>"

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not there yet."""
        chunked = ["seed", *self.about["recorded"]]
        return [k for k in range(self.about["chunks"]) if not all(self._file(name, k).exists() for name in chunked)]

    def _file(self, name: str, chunk: int) -> Path:
        return self.path / name / ".".join([str(chunk), *"0" * (len(self._arrays[name]["shape"]) - 1)])

    def _read(self, name: str, chunk: int = 0) -> np.ndarray:
        array = self._arrays[name]
        values = np.fromfile(self._file(name, chunk), array["dtype"]).reshape(array["chunks"])
        return values[: array["shape"][0] - chunk * array["chunks"][0]]

    def chunk(self, number: int) -> dict[str, np.ndarray]:
        """The seeds and the recorded ports of the instances of one chunk; the first axis is that of the instances.

        Raises
        ------
        FileNotFoundError
            It is not there yet.
        """
        return {name: self._read(name, number) for name in ("seed", *self.about["recorded"])}

    def axes(self) -> dict[str, np.ndarray]:
        """The swept names and their values: of a grid an axis each, else a value an instance."""
        return {name: self._read(name) for name in self.about["swept"]}

    def result(self) -> SweepResult:
        """All of it, in memory.

        Raises
        ------
        FileNotFoundError
            A chunk is not there yet.
        """
        axes, is_grid = self.axes(), self.about["combine"] == "grid"
        shape = tuple(len(values) for values in axes.values()) if is_grid else (len(self),)
        names = ["seed", *self.about["recorded"]]
        whole = {name: np.empty(self._arrays[name]["shape"], self._arrays[name]["dtype"]) for name in names}
        size = self.about["chunk"]
        for number in range(self.about["chunks"]):
            for name, values in self.chunk(number).items():
                whole[name][number * size : number * size + len(values)] = values
        whole = {name: values.reshape(*shape, *values.shape[1:]) for name, values in whole.items()}
        dims = (tuple(axes) if is_grid else ("instance",)) + (("step",) if self.about["every"] else ())
        return SweepResult(
            {name.removeprefix("swept."): values for name, values in axes.items()},
            tuple(name.removeprefix("swept.") for name in dims),
            {name: whole[name] for name in self.about["recorded"]},
            whole["seed"], self._read("step"), self._read("time"), is_grid,
        )  # fmt: skip

    # ---------------------------------------------------------------- other formats

    def _swept_of(self, axes: dict[str, np.ndarray], first: int, n: int) -> dict[str, np.ndarray]:
        """The swept values of the instances [first, first + n)."""
        instances = np.arange(first, first + n)
        if self.about["combine"] == "zip":
            return {name: values[first : first + n] for name, values in axes.items()}
        places = np.unravel_index(instances, tuple(len(values) for values in axes.values()))
        return {name: values[place] for (name, values), place in zip(axes.items(), places)}

    def _tables(self) -> Iterator[dict[str, np.ndarray]]:
        """Columns as those of a .csv, for the rows of one chunk after the other."""
        axes, steps, times = self.axes(), self._read("step"), self._read("time")
        n_rows, size = len(steps), self.about["chunk"]
        for number in range(self.about["chunks"]):
            values = self.chunk(number)
            n, table = len(values["seed"]), {}
            table["instance"] = np.repeat(np.arange(number * size, number * size + n), n_rows)
            for name, swept in self._swept_of(axes, number * size, n).items():
                table.update(_cells(name, np.repeat(swept, n_rows, axis=0)))
            table["seed"] = np.repeat(values["seed"], n_rows)
            table["step"], table["time"] = np.tile(steps, n), np.tile(times, n)
            for name in self.about["recorded"]:
                flat = values[name] if not self.about["every"] else values[name].reshape(n * n_rows, *values[name].shape[2:])
                table.update(_cells(name, flat))
            yield table

    def to_parquet(self, path: str | os.PathLike, **options: Any) -> None:
        """Writes a Parquet file with the columns of a .csv, a row group for each chunk. It appears whole or not at all.

        Parameters
        ----------
        path
            The file.
        **options
            Those of :class:`pyarrow.parquet.ParquetWriter`: compression and the like.

        Raises
        ------
        ImportError
            pyarrow is not installed.
        FileNotFoundError
            A chunk is not there yet.
        """
        import pyarrow
        import pyarrow.parquet

        writer = None
        with _appearing(path) as temporary:
            for table in self._tables():
                made = pyarrow.table(table)
                if writer is None:
                    writer = pyarrow.parquet.ParquetWriter(temporary, made.schema, **options)
                writer.write_table(made)
            if writer is not None:
                writer.close()

    def to_netcdf(self, path: str | os.PathLike) -> None:
        """Writes a NetCDF-4 file with the arrays of the folder, chunk by chunk. It appears whole or not at all.

        Raises
        ------
        ImportError
            netCDF4 is not installed.
        FileNotFoundError
            A chunk is not there yet.
        """
        import netCDF4

        with _appearing(path) as temporary, netCDF4.Dataset(temporary, "w", format="NETCDF4") as data:
            data.mdf_sweep = json.dumps(self.about)
            made = {name: self._netcdf_variable(data, name) for name in self._names()}
            for name in (*self.about["swept"], "step", "time"):
                made[name][...] = self._read(name)
            for number in range(self.about["chunks"]):
                first = number * self.about["chunk"]
                for name, values in self.chunk(number).items():
                    made[name][first : first + len(values)] = values

    def _netcdf_variable(self, data: Any, name: str) -> Any:
        array = self._arrays[name]
        dtype = np.dtype(array["dtype"])
        if dtype.kind == "c":
            raise TypeError(f"NetCDF has no complex numbers: '{name}' can not be written")
        dims = json.loads((self.path / name / ".zattrs").read_text())["_ARRAY_DIMENSIONS"]
        for dim, length in zip(dims, array["shape"]):
            if dim not in data.dimensions:
                data.createDimension(dim, length)
        kept = np.dtype("i1") if dtype.kind == "b" else np.dtype("f4") if dtype == np.float16 else dtype
        return data.createVariable(name, kept, dims, chunksizes=[max(1, n) for n in array["chunks"]], fill_value=False)


def _cells(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """A column for each element of one value."""
    places = itertools.product(*(range(n) for n in values.shape[1:]))
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return {name + "".join(f"[{i}]" for i in place): np.ascontiguousarray(flat[:, k]) for k, place in enumerate(places)}


@contextmanager
def _appearing(path: str | os.PathLike) -> Iterator[str]:
    """A name to write to; the file gets `path` once it is whole and the machine has it."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.new"
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
