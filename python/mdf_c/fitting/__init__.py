"""Parameters of a model from data: ``mdf_c.fit`` and ``mdf-fit``. See docs/fitting.md."""

from .fitting import fit
from .result import Estimate, Fit

__all__ = ["Estimate", "Fit", "fit"]
