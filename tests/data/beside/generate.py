#!/usr/bin/env python3
"""Writes the archives that tests/documents/test_beside.c reads: the same arrays stored and packed. Needs numpy."""
import os

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
ARRAYS = {"float32": np.arange(6, dtype=np.float32).reshape(2, 3) / 4, "float64": np.array([0.1, -2.5]), "int64": np.array([2**62, -1]),
          "float16": np.array([0.5, -1], np.float16), "bool": np.array([True, False]), "complex": np.array([1 + 2j, -3j], np.complex64),
          "columns": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)), "swapped": np.array([1, 2], ">i4"),
          "scalar": np.float32(1.5), "empty": np.zeros((0, 3)), "bytes": np.array([0, 7, 248, 255], np.uint8),
          "small": np.array([-8, 7], np.int8), "words": np.array([0x3f80, 0xc000], np.uint16), "text": np.array(["a"]),
          "time": np.array(["2020-01-01"], "datetime64[D]"), "a/b.c": np.array([3.0])}

np.savez(os.path.join(FOLDER, "stored.npz"), **ARRAYS)
np.savez_compressed(os.path.join(FOLDER, "packed.npz"), **ARRAYS)
