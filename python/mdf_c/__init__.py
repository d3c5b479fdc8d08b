"""mdf_c - a native engine for MDF (ModECI Model Description Format) models.

>>> import mdf_c
>>> result = mdf_c.run("model.json", inputs={"x": 1.0}, steps=100, dt=0.01, record=True)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
from .running import Result, run

if TYPE_CHECKING:
    from . import conversion, evaluable, fitting, frameworks, functions, gradients, psyneulink, registration, sampling, simulating, stored, sweeping
    from .conversion import from_onnx
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
    from .sampling import Distribution, lognormal, normal, sample, uniform
    from .simulating import Simulator, sensitivity, simulator
    from .stored import StoredSweep, open_sweep
    from .sweeping import SweepResult, instance_seeds, sweep

# Modules that are imported when somebody asks for one of their names: to load and run a model takes a small part of the package.
_LATER = {
    "conversion": ("from_onnx",),
    "evaluable": ("EvaluableGraph",),
    "fitting": ("Fit", "fit"),
    "frameworks": ("to_jax", "to_pytensor", "to_torch"),
    "functions": (),
    "gradients": (
        "ForwardSensitivities",
        "Gradient",
        "HessianVector",
        "JacobianVector",
        "VectorJacobian",
        "forward_sensitivities",
        "gradient",
        "hvp",
        "jvp",
        "value_and_grad",
        "vjp",
    ),
    "psyneulink": (),
    "registration": ("register",),
    "sampling": ("Distribution", "lognormal", "normal", "sample", "uniform"),
    "simulating": ("Simulator", "sensitivity", "simulator"),
    "stored": ("StoredSweep", "open_sweep"),
    "sweeping": ("SweepResult", "instance_seeds", "sweep"),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name, name)
    if module not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = importlib.import_module(f".{module}", __name__)
    globals()[name] = value = value if name == module else getattr(value, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_MODULE_OF})


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
