"""Compositions of PsyNeuLink, small ones, as functions: what the live door (`mdf_c.psyneulink`) is compared with Composition.run on.

Their lists, by name (building.py), with what all files put there.
"""

import arranging  # noqa: F401 - each adds to the lists
import beyond_files  # noqa: F401
import controlling  # noqa: F401
import drawing  # noqa: F401
import estimating  # noqa: F401
import mechanisms  # noqa: F401
import refusals  # noqa: F401
import scheduling  # noqa: F401
import whole_models  # noqa: F401
from building import ARRANGED, COMPOSITIONS, ESTIMATIONS, REFUSED  # noqa: F401
