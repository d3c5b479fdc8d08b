"""Data: columns by name, each with a row for each observation; from a CSV, NPZ or NetCDF file, a dict, a DataFrame or a Dataset."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._placed import Placed
from ..errors import MdfFileError

Columns = dict[str, np.ndarray]


def read_data(given: Placed, folder: Path) -> Columns:
    """The columns that `data` stands for; a file is looked for beside the one that names it."""
    value = given.value
    if isinstance(value, (str, os.PathLike)):
        columns = _read_file(given, folder / os.fspath(value))
    elif isinstance(value, dict):
        columns = {name: _column(column) for name, column in value.items()}
    elif hasattr(value, "data_vars"):  # an xarray.Dataset: coordinates are columns too
        table = value if len(value.dims) == 1 else value.to_dataframe().reset_index()
        columns = {str(name): np.asarray(table[name]) for name in (value.variables if table is value else table.columns)}
    elif hasattr(value, "columns"):  # a pandas.DataFrame
        columns = {str(name): np.asarray(value[name]) for name in value.columns}
    else:
        raise given.fault(f"must be the name of a file, or columns {{NAME: values}}, not {given.describe()}")
    return _checked(given, columns)


def _column(column: Placed) -> np.ndarray:
    array = np.asarray(column.plain())
    if array.ndim == 0 or array.dtype.kind not in "biufUO":
        raise column.fault(f"a column must be a list of values, one a row, not {column.describe()}")
    return array


def _checked(given: Placed, columns: Columns) -> Columns:
    lengths = {name: len(column) for name, column in columns.items() if column.ndim}
    if not lengths or len(set(lengths.values())) > 1:
        raise given.fault(
            f"the columns of the data must be as long as each other, not {lengths}" if lengths else "the data has no columns"
        )
    if not next(iter(lengths.values())):
        raise given.fault("the data has no rows")
    return {name: columns[name] for name in lengths}


def _read_file(given: Placed, path: Path) -> Columns:
    suffix = path.suffix.lower()
    readers = {".csv": _read_csv, ".tsv": _read_csv, ".npz": _read_npz, ".nc": _read_netcdf}
    if suffix not in readers:
        raise given.fault(f"data is read from .csv, .tsv, .npz and .nc, not from '{path.name}'")
    try:
        return readers[suffix](given, path)
    except OSError as error:
        raise given.fault(f"the data can not be read: '{path}': {error.strerror or error}", MdfFileError) from None


def _read_netcdf(given: Placed, path: Path) -> Columns:
    try:
        import xarray
    except ImportError:
        raise given.fault(
            "NetCDF files are read by xarray and netCDF4, which are not installed: pip install xarray netCDF4"
        ) from None
    with xarray.open_dataset(path) as dataset:
        return read_data(Placed(dataset.load(), given.path, given.file, given.line, given.column), path.parent)


def _read_npz(given: Placed, path: Path) -> Columns:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except ValueError as error:
        raise given.fault(f"'{path}' is no archive of arrays: {error}") from None


def _read_csv(given: Placed, path: Path) -> Columns:
    """The first row has the names. A column is of numbers where all of its cells are; an empty one is missing (NaN)."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [(number, row) for number, row in _numbered(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))]
    if not rows:
        raise given.fault(f"'{path}' is empty: its first row has the names of columns")
    names = [name.strip() for name in rows[0][1]]
    if len(set(names)) < len(names):
        raise given.fault(f"{path}:1: two columns have the same name")
    for number, row in rows:
        if len(row) != len(names):
            raise given.fault(f"{path}:{number}: there are {len(row)} cells, not {len(names)} as in the first row")
    return {name: _typed([row[i].strip() for _, row in rows[1:]]) for i, name in enumerate(names)}


def _numbered(reader: Any) -> Any:
    for row in reader:
        if row:
            yield reader.line_num, row


def _typed(cells: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)
