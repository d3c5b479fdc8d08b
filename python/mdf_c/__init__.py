"""mdf_c - a native engine for MDF (ModECI Model Description Format) models.

>>> import mdf_c
>>> result = mdf_c.run("model.json", inputs={"x": 1.0}, steps=100, dt=0.01, record=True)  # doctest: +SKIP
"""

from . import psyneulink
from .conversion import from_onnx
from .custom import Functions, load_plugin, register_function
from .engine import Model, Program, Settings, State, check, compile, load
from .errors import (
    MdfError,
    MdfFileError,
    MdfInterrupted,
    MdfLimitError,
    MdfMemoryError,
    MdfNameError,
    MdfSyntaxError,
    MdfTypeError,
    MdfUnsupportedError,
    MdfWarning,
)
from .evaluable import EvaluableGraph
from .fitting import Fit, fit
from .frameworks import to_jax, to_pytensor, to_torch
from .gradients import (
    ForwardSensitivities,
    Gradient,
    HessianVector,
    JacobianVector,
    VectorJacobian,
    forward_sensitivities,
    gradient,
    hvp,
    jvp,
    value_and_grad,
    vjp,
)
from .registration import register
from .running import Result, run
from .sampling import Distribution, lognormal, normal, sample, uniform
from .simulating import Simulator, sensitivity, simulator
from .stored import StoredSweep, open_sweep
from .sweeping import SweepResult, instance_seeds, sweep

__version__ = "0.1.0"
__all__ = [
    "Distribution",
    "EvaluableGraph",
    "Fit",
    "ForwardSensitivities",
    "Functions",
    "Gradient",
    "HessianVector",
    "JacobianVector",
    "MdfError",
    "MdfFileError",
    "MdfInterrupted",
    "MdfLimitError",
    "MdfMemoryError",
    "MdfNameError",
    "MdfSyntaxError",
    "MdfTypeError",
    "MdfUnsupportedError",
    "MdfWarning",
    "Model",
    "Program",
    "Result",
    "Settings",
    "Simulator",
    "State",
    "StoredSweep",
    "SweepResult",
    "VectorJacobian",
    "check",
    "compile",
    "fit",
    "forward_sensitivities",
    "from_onnx",
    "gradient",
    "hvp",
    "instance_seeds",
    "jvp",
    "load",
    "load_plugin",
    "lognormal",
    "normal",
    "open_sweep",
    "psyneulink",
    "register",
    "register_function",
    "run",
    "sample",
    "sensitivity",
    "simulator",
    "sweep",
    "to_jax",
    "to_pytensor",
    "to_torch",
    "uniform",
    "value_and_grad",
    "vjp",
]
