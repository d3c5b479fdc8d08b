"""open_sweep: what ``mdf-run --sweep FILE -o RESULTS.zarr`` wrote, read chunk by chunk; as Parquet or NetCDF-4 too."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Array:
    """What the folder of an array says of it."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    dims: tuple[str, ...]
    codec: str | None

    @staticmethod
    def of(folder: Path, is_v3: bool) -> _Array:
        if is_v3:
            about = json.loads((folder / "zarr.json").read_text())
            chunks, dtype, dims = about["chunk_grid"]["configuration"]["chunk_shape"], about["data_type"], about["dimension_names"]
            codec = about["codecs"][-1]["name"] if len(about["codecs"]) > 1 else None
        else:
            about = json.loads((folder / ".zarray").read_text())
            chunks, dtype, codec = about["chunks"], about["dtype"], (about["compressor"] or {}).get("id")
            dims = json.loads((folder / ".zattrs").read_text())["_ARRAY_DIMENSIONS"]
        return _Array(tuple(about["shape"]), tuple(chunks), np.dtype(dtype), tuple(dims), codec)

    def decode(self, content: bytes) -> np.ndarray:
        """The elements of a chunk."""
        if self.codec == "gzip":
            content = gzip.decompress(content)
        elif self.codec == "zstd":
            import zstandard

            content = zstandard.ZstdDecompressor().decompress(content)
        return np.frombuffer(content, self.dtype.newbyteorder("<")).copy()


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
        self._is_v3 = (path / "zarr.json").exists()
        if self._is_v3:
            self.about: dict[str, Any] = json.loads((path / "zarr.json").read_text())["attributes"]["mdf_sweep"]
        else:
            self.about = json.loads((path / ".zattrs").read_text())["mdf_sweep"]
        self._arrays = {name: _Array.of(path / name, self._is_v3) for name in self._names()}

    def _names(self) -> list[str]:
        of_all = self.about["points"] if self._is_reduced else ["seed"]
        return [*self.about["swept"], "step", "time", *of_all, *self.about["recorded"]]

    @property
    def _is_reduced(self) -> bool:
        """Whether only what many instances come to together is told."""
        return "points" in self.about

    def __len__(self) -> int:
        return self.about["instances"]

    def __repr__(self) -> str:
        missing = len(self.missing())
        state = "complete" if not missing else f"{missing} of {self.about['chunks']} chunks missing"
        return f"<mdf_c.StoredSweep of {len(self)} instances ({state}): {', '.join(self.about['recorded'])}>"

    def missing(self) -> list[int]:
        """Numbers of the chunks that are not there yet."""
        if self._is_reduced:
            return [k for k in range(self.about["chunks"]) if not (self.path / ".reduced" / str(k)).exists()]
        chunked = ["seed", *self.about["recorded"]]
        return [k for k in range(self.about["chunks"]) if not all(self._file(name, k).exists() for name in chunked)]

    def _file(self, name: str, chunk: int) -> Path:
        return self.path / name / (".".join([str(chunk), *"0" * (len(self._arrays[name].shape) - 1)]))

    def _read(self, name: str, chunk: int = 0) -> np.ndarray:
        array = self._arrays[name]
        values = array.decode(self._file(name, chunk).read_bytes()).reshape(array.chunks)
        return values[: array.shape[0] - chunk * array.chunks[0]] if values.ndim else values

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
        axes = self.axes()
        dims, shape = [name for name, _ in self.about["axes"]], tuple(length for _, length in self.about["axes"])
        if self._is_reduced:
            whole = {name: self._read(name) for name in self.about["recorded"]}
            return self._result(axes, dims, shape, whole, np.empty(0, np.uint64))
        names = ["seed", *self.about["recorded"]]
        whole = {name: np.empty(self._arrays[name].shape, self._arrays[name].dtype) for name in names}
        size = self.about["chunk"]
        for number in range(self.about["chunks"]):
            for name, values in self.chunk(number).items():
                whole[name][number * size : number * size + len(values)] = values
        whole = {name: values.reshape(*shape, *values.shape[1:]) for name, values in whole.items()}
        return self._result(axes, dims, shape, whole, whole["seed"])

    def _result(self, axes, dims, shape, whole, seeds) -> SweepResult:
        suffixes = {"quantiles": ".at", "histogram": ".edges"}
        points = {
            name: self._read(name + suffixes[kind])
            for name in self.about["recorded"]
            if self._is_reduced and (kind := name.rsplit(".", 1)[1]) in suffixes
        }
        return SweepResult(
            {name.removeprefix("swept."): values for name, values in axes.items()},
            (*dims, "step") if self.about["every"] else tuple(dims),
            {name: whole[name] for name in self.about["recorded"]},
            seeds, self._read("step"), self._read("time"),
            {name.removeprefix("swept."): self._along(name) for name in axes}, points, shape,
        )  # fmt: skip

    def _along(self, name: str) -> str:
        """The axis of the instances that swept values go along."""
        return self._arrays[name].dims[0].removeprefix("swept.")

    # ---------------------------------------------------------------- other formats

    def _swept_of(self, axes: dict[str, np.ndarray], first: int, n: int) -> dict[str, np.ndarray]:
        """The swept values of the instances [first, first + n)."""
        dims = [name for name, _ in self.about["axes"]]
        places = np.unravel_index(np.arange(first, first + n), tuple(length for _, length in self.about["axes"]))
        return {name: values[places[dims.index(self._along(name))]] for name, values in axes.items()}

    def _tables(self) -> Iterator[dict[str, np.ndarray]]:
        """Columns as those of a .csv, for the rows of one chunk after the other."""
        if self._is_reduced:
            raise TypeError("a table has a row for each instance, of which nothing was kept: take .result()")
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
                if name.startswith("stopped_"):
                    flat = np.repeat(values[name], n_rows)
                elif self.about["every"]:
                    flat = values[name].reshape(n * n_rows, *values[name].shape[2:])
                else:
                    flat = values[name]
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
            whole = self._names() if self._is_reduced else [*self.about["swept"], "step", "time"]
            for name in whole:
                made[name][...] = self._read(name)
            for number in range(0 if self._is_reduced else self.about["chunks"]):
                first = number * self.about["chunk"]
                for name, values in self.chunk(number).items():
                    made[name][first : first + len(values)] = values

    def _netcdf_variable(self, data: Any, name: str) -> Any:
        array = self._arrays[name]
        dtype = array.dtype
        if dtype.kind == "c":
            raise TypeError(f"NetCDF has no complex numbers: '{name}' can not be written")
        for dim, length in zip(array.dims, array.shape):
            if dim not in data.dimensions:
                data.createDimension(dim, length)
        kept = np.dtype("i1") if dtype.kind == "b" else np.dtype("f4") if dtype == np.float16 else dtype
        return data.createVariable(name, kept, array.dims, chunksizes=[max(1, n) for n in array.chunks], fill_value=False)


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
