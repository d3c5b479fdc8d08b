"""Ports of PsyNeuLink's mechanisms: what the exporter leaves out of them.

Input ports that do something else than adding up, output ports that count, choose, or have functions of their own, and what output
ports hold before their mechanism has run.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from ._psyneulink_names import Part, held_at_first, identifier, plain, port_id, unsupported

# What PsyNeuLink's standard output ports compute with Python functions, by the names of these ports.
_STANDARD_PORTS = {
    "MEAN": "numpy.mean({0})",
    "MEDIAN": "numpy.median({0})",
    "STANDARD_DEVIATION": "numpy.std({0})",
    "VARIANCE": "numpy.var({0})",
    "MAX_VAL": "numpy.max({0})",
    "MAX_ABS_VAL": "numpy.max(numpy.absolute({0}))",
    "SUM": "numpy.sum({0})",
    "SSE": "numpy.sum({0} * {0})",
    "MSE": "numpy.mean({0} * {0})",
    "MAX_VS_NEXT": "(numpy.sort(numpy.ravel({0}))[-1] - numpy.sort(numpy.ravel({0}))[-2])",
    "MAX_VS_AVG": "(numpy.max({0}) - numpy.mean(numpy.sort(numpy.ravel({0}))[:-1]))",
    "DECISION_INDEX": "(numpy.argmax({0}) + 0.0)",
}

# What ports of an LCAMechanism give besides its value: how often it has run since it was finished, and the time that this takes.
_RUNS = "num_executions_before_finished"

_COUNTS = (_RUNS, [_RUNS, "time_step_size"])

# What an array of a DDM has in the place of what was decided for, by the names of these ports; 0 in the other.
_CHOSEN = {"DECISION_VARIABLE_ARRAY": ("{0}", "{0}"), "SELECTED_INPUT_ARRAY": ("numpy.ravel({1})[0]", "numpy.ravel({1})[1]")}


def is_count(port: Any) -> bool:
    return port._variable_spec in _COUNTS


def is_chosen(port: Any) -> bool:
    """Of a DDM that gets one number a port of such a name is one like others."""
    return type(port.owner).__name__ == "DDM" and port.name in _CHOSEN and np.size(port.defaults.value) == 2


def function_id(mechanism: Any, function: Any = None) -> str:
    function = mechanism.function if function is None else function
    return identifier(f"{mechanism.name}_{function.name}")


def add_function(part: Part, id: str, value: str) -> str:
    part.setdefault("functions", {})[id] = {"value": value}
    return id


def input_functions(part: Part, mechanism: Any) -> None:
    """The file says of input ports that they add up what arrives: others compute it by their functions."""
    from psyneulink.core.components.functions.nonstateful.transformfunctions import LinearCombination
    from psyneulink.core.components.functions.userdefinedfunction import UserDefinedFunction

    for port in mechanism.input_ports:
        function = port.function
        if isinstance(function, UserDefinedFunction):
            what = f"its input port '{port.name}' has a Python function, {described(function.custom_function)}"
            raise unsupported(mechanism, f"{what}: take a function of PsyNeuLink")
        if any(p.exponent is not None for p in port.path_afferents):
            raise unsupported(mechanism, f"a projection to its input port '{port.name}' has an exponent: let a mechanism compute it")
        is_sum = isinstance(function, LinearCombination) and str(function.operation) == "sum" and function.scale == 1
        if not is_sum or function.offset != 0 or function.weights is not None or function.exponents is not None:
            _combine(part, port)


def _combine(part: Part, port: Any) -> None:
    """What reads the port reads what its function makes of what arrives."""
    if hasattr(port.owner, "recurrent_projection"):
        raise unsupported(port.owner, f"its input port '{port.name}' does not add up its projections: let a mechanism compute it")
    id, functions, shape = port_id(port), part["functions"], list(np.shape(port.defaults.value))
    model = json.loads(function_json(port.function))
    model.setdefault("args", {})["variable0"] = f"numpy.reshape({id}, (1, -1))"
    if id not in part["input_ports"]:  # there are several projections
        model["args"]["variable0"] = f"{id}_combination_function_input_data"
        del functions[f"{id}_input_combination_function"], functions[f"{id}_input_combination_function_dimreduce"]
    combined = f"{id}_input_combination_function_dimreduce"
    if id in part["input_ports"]:
        combined, shape = f"{id}_combined", [1, *shape]  # as the file has a port with one projection
        read_instead(part, id, combined)
    functions[f"{id}_combination"] = model
    functions[combined] = {"value": f"numpy.reshape({id}_combination, {shape})"}


def read_as(part: Part, port: Any) -> str:
    """What functions of the mechanism read an input port as."""
    id = port_id(port)
    return id if id in part["input_ports"] else f"{id}_input_combination_function_dimreduce"


def read_instead(part: Part, name: str, by: str) -> None:
    """Functions read another one in the place of a name."""
    for function in part["functions"].values():
        arguments = function.get("args", {})
        for key, value in arguments.items():
            if isinstance(value, str):
                arguments[key] = replaced(value, name, by)


def replaced(expression: str, name: str, by: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", by, expression)


def counts(part: Part, mechanism: Any) -> None:
    """Ports that give how often the mechanism has run since it was finished."""
    ports = [port for port in mechanism.output_ports if is_count(port)]
    for port in ports:
        time = f" * {plain(mechanism.parameters.time_step_size.get(None))}" if port._variable_spec != _RUNS else ""
        part["output_ports"][port_id(port)]["value"] = f"numpy.reshape({_RUNS}{time}, (1,))"
    if not ports:
        return
    if mechanism.termination_threshold is None or not mechanism.defaults.integrator_mode:  # it is finished after each run
        add_function(part, _RUNS, "1.0")
        return
    most = int(np.asarray(mechanism.parameters.max_executions_before_finished.get(None)).item())
    add_function(part, _RUNS, "1.0 if was_finished > 0 else runs_before + 1.0")
    part.setdefault("parameters", {}).update(
        runs_before={"value": _RUNS, "default_initial_value": 0.0},
        was_finished={"value": f"1.0 if is_finished else 1.0 if {_RUNS} >= {most} else 0.0", "default_initial_value": 1.0},
    )


def output_functions(part: Part, mechanism: Any) -> None:
    for port in mechanism.output_ports:
        if not is_count(port) and not port.function._is_identity(defaults=True):
            _output_function(part["output_ports"][port_id(port)], part, port)


def _output_function(written: Part, part: Part, port: Any) -> None:
    from psyneulink.core.components.functions.userdefinedfunction import UserDefinedFunction

    if port.name.startswith("DECISION_OUTCOME") and type(port.owner).__name__ == "DDM":
        written["value"] = f"numpy.where({written['value']} > 0.0, 1.0, 0.0)"
        return
    if is_chosen(port):
        decision = f"numpy.ravel({function_id(port.owner)}[0])[0]"
        upper, lower = (item.format(decision, read_as(part, port.owner.input_port)) for item in _CHOSEN[port.name])
        written["value"] = f"numpy.array([{upper}, 0.0]) if {decision} > 0 else numpy.array([0.0, {lower}])"
        return
    if not isinstance(port.function, UserDefinedFunction):
        _check_costs(port)
        model = json.loads(function_json(port.function))
        id = f"{port_id(port)}_function"
        model.setdefault("args", {})["variable0"] = written["value"]
        part["functions"][id] = model
        written["value"] = id
        return
    standard = next((item for item in type(port.owner).standard_output_ports if _is_function_of(item, port)), None)
    if standard is None or str(standard["name"]).upper() not in _STANDARD_PORTS:
        raise unsupported(
            port.owner,
            f"its output port '{port.name}' has a Python function, {described(port.function.custom_function)}:"
            " take a function of PsyNeuLink or a standard output port",
        )
    number = _STANDARD_PORTS[str(standard["name"]).upper()].format(written["value"])
    written["value"] = f"numpy.reshape({number}, (1,))"


def _check_costs(signal: Any) -> None:
    from psyneulink.core.components.functions.nonstateful.transferfunctions import CostFunctions

    if getattr(signal, "cost_options", None) and CostFunctions.DURATION & signal.cost_options:
        raise unsupported(signal, "its cost of duration grows whenever it is looked at: take costs of intensity or adjustment")


def _is_function_of(item: Part, port: Any) -> bool:
    return item.get("function") is port.function.custom_function


def function_json(function: Any) -> str:
    from psyneulink.core.globals.mdf import PNLJSONEncoder

    (model,) = function.as_mdf_model().to_dict().values()
    return json.dumps(model, cls=PNLJSONEncoder)


def described(function: Any) -> str:
    return f"'{getattr(function, '__qualname__', function)}' of {getattr(function, '__module__', 'no module')}"


def index_of(port: Any) -> int:
    spec = port._variable_spec
    return spec[1] if isinstance(spec, tuple) else 0


def defaults(part: Part, mechanism: Any) -> None:
    """What ports hold before their mechanism has run."""
    for port in mechanism.output_ports:
        part["output_ports"][port_id(port)].setdefault("metadata", {})["default"] = held_at_first(port).tolist()
