"""``mdf-fmu``: what it writes is valid, and gives the numbers of the engine in FMPy."""

import ctypes
import itertools
import math
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mdf_c
from mdf_c._library import native_file

from conftest import ROOT

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
from fmpy.validation import validate_fmu  # noqa: E402


STEP = 0.25
FAST = {} if os.environ.get("FMU_EXAMPLES") == "all" else {"CC": str(ROOT / "tests/random/cc_fast.sh")}
MODELS = ROOT / "tests/data/fmu"
pytestmark = [
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="FMUs are for Linux on x86-64"),
    pytest.mark.skipif(not MODELS.is_dir(), reason="its models, and the compiler it calls, are those of a source tree"),
]


def make(model, path, *options, dt=STEP):
    """The path of the FMU; the message where there is none."""
    command = ["mdf-fmu", model, "--dt", str(dt), "-o", path, *options]
    made = subprocess.run(command, executable=native_file("mdf-run"), capture_output=True, text=True, env={**os.environ, **FAST}, check=False, cwd=ROOT)
    if made.returncode != 0:
        raise ValueError(made.stderr)
    return str(path)


def trace_of(model, n_steps, dt=STEP, inputs=None, seed=0):
    """The outputs of each step, as mdf-run --trace has them, {NODE.PORT: array}."""
    state = mdf_c.load(model).compile(seed=seed).state()
    trace = []
    for i in range(n_steps):
        state.set_inputs(inputs or {})
        state.evaluate(None if i == 0 else dt)
        trace.append({f"{node}.{port}": value for node, ports in state.outputs().items() for port, value in ports.items()})
    return trace


def elements(name, value):
    """The scalars of FMI 2, with their names."""
    array = np.asarray(value)
    for index in itertools.product(*map(range, array.shape)):
        yield (f"{name}[{','.join(str(i + 1) for i in index)}]" if index else name), array[index]


def is_same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.array_equal(a.astype(float), b.astype(float), equal_nan=True)


def expect_equal(fmu, trace, version, dt=STEP, **settings):
    result = fmpy.simulate_fmu(
        fmu, fmi_type="CoSimulation", stop_time=(len(trace) - 1) * dt, step_size=dt, output_interval=dt, **settings
    )
    n_compared = 0
    for step, outputs in enumerate(trace):
        for name, value in outputs.items():
            value = np.nan if value is None else value
            for scalar, expected in elements(name, value) if version == 2 else [(name, value)]:
                quoted = next(n for n in result.dtype.names if n.replace("'", "") == scalar)
                assert is_same(result[quoted][step], expected), (scalar, step)
                n_compared += 1
    assert n_compared > 0


def example_models():
    every = sorted(itertools.chain(*((ROOT / "examples").glob(pattern) for pattern in ("*.yaml", "*.json", "control_flow/*.*"))))
    few = {"cooling.yaml", "fitzhugh_nagumo.yaml", "traffic_light.yaml", "newton_sqrt.json", "lif_population.json", "slow_and_fast.yaml"}
    return [path for path in every if path.suffix in (".yaml", ".json") and (path.name in few or not FAST)]


NO_FORM = {  # what mdf-compile says of them
    "actr_retrieval.json": "is float64 scalar, not an object",
    "beam_search.yaml": "that grows from run to run",
    "edit_distance.json": "a list, an object, text or nothing",
    "greedy_decoding.yaml": "a list, an object, text or nothing",
    "if_unequal_branches.json": "results differ in type or shape",
    "multiplication_table.yaml": "whose length is known only when its Loop has ended",
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("model", example_models(), ids=lambda path: path.name)
def test_examples_are_valid_and_equal_to_the_engine(model, version, tmp_path):
    if model.name in NO_FORM:
        with pytest.raises(ValueError, match=NO_FORM[model.name]):
            make(model, tmp_path / "x.fmu")
        return
    fmu = make(model, tmp_path / "x.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    expect_equal(fmu, trace_of(model, 9), version)


@pytest.mark.parametrize("version", [2, 3])
def test_a_controller_with_a_state_machine(version, tmp_path):
    fmu = make(MODELS / "pid.yaml", tmp_path / "pid.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    trace = trace_of(MODELS / "pid.yaml", 40, inputs={"measured": 52.0})
    assert {step["pid.mode"].item() for step in trace} == {1}
    expect_equal(fmu, trace, version, start_values={"pid.measured": 52.0})


@pytest.mark.parametrize("version", [2, 3])
def test_all_types_names_and_arrays(version, tmp_path):
    fmu = make(MODELS / "types.json", tmp_path / "types.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    if version == 3:
        trace = trace_of(MODELS / "types.json", 4)
        del trace[0]["a node.it's <b> & \"c\""]
        expect_equal(fmu, [{k: v for k, v in step.items() if "it's" not in k} for step in trace], 3)


@pytest.mark.parametrize("version", [2, 3])
def test_random_numbers_are_those_of_the_seed(version, tmp_path):
    fmu = make(ROOT / "examples/drift_diffusion.yaml", tmp_path / "ddm.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    for seed in (0, 7):
        expect_equal(fmu, trace_of(ROOT / "examples/drift_diffusion.yaml", 5, seed=seed), version, start_values={"seed": seed})


def test_units_are_in_the_description(tmp_path):
    description = fmpy.read_model_description(make(MODELS / "tank.yaml", tmp_path / "tank.fmu"))
    units = {variable.name: variable.unit for variable in description.modelVariables}
    assert (units["tank.power"], units["tank.loss"], units["tank.temperature"], units["tank.measured"]) == ("W", "W/K", "degC", None)


# ------------------------------------------------------------------ model exchange


@pytest.mark.parametrize("version", [2, 3])
def test_a_solver_finds_the_solution(version, tmp_path):
    fmu = make(MODELS / "tank.yaml", tmp_path / "tank.fmu", "--fmi", str(version))
    result = fmpy.simulate_fmu(
        fmu, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-9, stop_time=60, output_interval=1, start_values={"tank.power": 30.0}
    )
    rate, rise = 0.5 / 40, 30 / 0.5
    exact = 20 + rise * (1 - np.exp(-rate * result["time"]))
    assert len(exact) == 61
    np.testing.assert_allclose(result["tank.temperature"], exact, rtol=1e-7)


def test_steps_of_euler_in_the_importer_are_those_of_the_model(tmp_path):
    """Of one state; of several, the model's own steps use those that have gone on already."""
    model = ROOT / "examples/cooling.yaml"
    fmu = make(model, tmp_path / "cooling.fmu", dt=1)
    result = fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="Euler", step_size=1, stop_time=20, output_interval=1)
    expected = [step["cup.temperature"].item() for step in trace_of(model, 21, dt=1)]
    assert result["cup.temperature"].tolist() == expected


@pytest.mark.parametrize("version", [2, 3])
def test_a_ball_bounces_when_it_is_on_the_ground(version, tmp_path):
    fmu = make(MODELS / "ball.yaml", tmp_path / "ball.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    result = fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-9, stop_time=1.2, output_interval=0.01)
    bounces = [
        (t, before, after)
        for t, before, after in zip(result["time"][1:], result["ball.speed"], result["ball.speed"][1:])
        if before < 0 < after
    ]
    first = math.sqrt(2 / 9.81)
    expected = [
        (first, -9.81 * first, 0.7 * 9.81 * first),
        (first + 2 * 0.7 * first, -0.7 * 9.81 * first, 0.49 * 9.81 * first),
    ]
    np.testing.assert_allclose([b[0] for b in bounces], [e[0] for e in expected], rtol=1e-8)
    np.testing.assert_allclose([b[2] for b in bounces], [e[2] for e in expected], rtol=1e-7)


HELD = """
held:
  graphs:
    g:
      nodes:
        n:
          input_ports: {on: {default_value: 0.0}}
          parameters:
            v: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: hold, test: on > 0.5, value: 0.25}]}
            w: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: top, test: w > 0.7, value: RESET}]}
          output_ports: {v: {value: v}, w: {value: w}}
"""


def test_a_condition_that_goes_on_holds_the_state(tmp_path):
    (tmp_path / "held.yaml").write_text(HELD.replace("RESET", "0.0"))
    fmu = make(tmp_path / "held.yaml", tmp_path / "held.fmu")
    on = np.array([(0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (3, 0)], dtype=[("time", float), ("n.on", float)])
    result = fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", stop_time=3, output_interval=0.125, input=on)
    last = {t: (v, w) for t, v, w in zip(result["time"], result["n.v"], result["n.w"])}
    expected = {t: t if t < 1 else 0.25 if t <= 2 else 0.25 + t - 2 for t in (0.5, 0.875, 1.25, 1.875, 2.5, 3.0)}
    np.testing.assert_allclose([last[t][0] for t in expected], list(expected.values()), atol=1e-4)
    np.testing.assert_allclose([last[t][1] for t in expected], [t % 0.7 for t in expected], atol=1e-3)


SAW = """
saw:
  graphs:
    g:
      nodes:
        n:
          parameters:
            period: {value: 0.3}
            phase: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: again, test: phase >= period, value: 0.0}]}
            x:
              metadata: {unit: m, nominal: 1.0e-3}
              default_initial_value: 1.0
              time_derivative: -x
              conditions: [{id: kick, test: numpy.absolute(phase) >= period, value: x + 1.0}, {id: low, test: x < 0.01, value: 1.0}]
            y: {metadata: {nominal: 20}, default_initial_value: [0.0, 1.0], time_derivative: 'x - y'}
          output_ports: {x: {value: x}, y: {value: y}, z: {metadata: {nominal: 5.0}, value: x}}
"""


@pytest.mark.parametrize("version", [2, 3])
def test_events_of_clocks_are_told_before(version, tmp_path):
    """Of conditions that depend on time alone; the solver stops just there, where their states are what the clock says."""
    (tmp_path / "saw.yaml").write_text(SAW)
    fmu = make(tmp_path / "saw.yaml", tmp_path / "saw.fmu", "--fmi", str(version))
    assert validate_fmu(fmu) == []
    unit, _ = model_exchange(fmu, tmp_path, "saw", version)
    now, told, given = 0.0, [], (ctypes.c_double * 4)()
    for turn in range(4):
        unit.enterEventMode()
        *_, is_told, time = (unit.newDiscreteStates if version == 2 else unit.updateDiscreteStates)()
        assert is_told
        unit.enterContinuousTimeMode()
        unit.getContinuousStates(given, 4)
        assert given[:2] == [0.0, 1.0 + turn]  # each went just once
        given[0] += (time - now) * (1 - 1e-13)  # as a solver rounds it
        unit.setContinuousStates(given, 4)
        unit.setTime(time)
        now = time
        told.append(time)
    assert told == pytest.approx([0.3, 0.6, 0.9, 1.2], abs=1e-15)
    unit.terminate()
    result = fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-10, stop_time=3.05, output_interval=0.05)
    exact = mdf_c.run(tmp_path / "saw.yaml", steps=2, dt=3.05, method="dopri5", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result["n.x"][-1], exact.results["x"], rtol=1e-8)
    events = [t for t, a, b in zip(result["time"], result["n.x"], result["n.x"][1:]) if b > a + 0.9]
    np.testing.assert_allclose(events, 0.3 * np.arange(1, 11), atol=1e-12)


@pytest.mark.parametrize("version", [2, 3])
def test_nominal_values(version, tmp_path):
    (tmp_path / "saw.yaml").write_text(SAW)
    fmu = make(tmp_path / "saw.yaml", tmp_path / "saw.fmu", "--fmi", str(version))
    unit, variables = model_exchange(fmu, tmp_path, "saw", version)
    given = (ctypes.c_double * 4)()
    unit.getNominalsOfContinuousStates(given, 4)
    assert list(given) == [1, 1e-3, 20, 20]
    nominals = {name: None if variable.nominal is None else float(variable.nominal) for name, variable in variables.items()}
    array = "n.y[2]" if version == 2 else "n.y"
    assert (nominals["n.x"], nominals["n.z"], nominals[array], nominals["n.period"]) == (1e-3, 5, 20, None)
    for wrong in ("0.0", "-1", "[1.0]", "high", ".inf"):
        (tmp_path / "saw.yaml").write_text(SAW.replace("1.0e-3", wrong))
        with pytest.raises(ValueError, match=r"saw.yaml:11:\d+: error: nominal has to be a number larger than 0"):
            make(tmp_path / "saw.yaml", tmp_path / "saw.fmu", "--fmi", str(version))


def test_a_limit_that_lets_go_at_once_is_told(tmp_path, capfd):
    (tmp_path / "held.yaml").write_text(HELD.replace("RESET", "0.7"))
    fmu = make(tmp_path / "held.yaml", tmp_path / "held.fmu")
    with pytest.raises(Exception, match="NewDiscreteStates failed"):
        fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", stop_time=1, output_interval=0.5)
    assert "again and again" in capfd.readouterr().out
    expect_equal(fmu, trace_of(tmp_path / "held.yaml", 9), 2)


# ------------------------------------------------------------------ directional derivatives


def model_exchange(path, tmp_path, name, version):
    """A unit whose initialization has ended, and its variables by name."""
    description = fmpy.read_model_description(path)
    folder = str(fmpy.extract(path, tmp_path / name))
    made = fmpy.fmi2.FMU2Model if version == 2 else fmpy.fmi3.FMU3Model
    unit = made(guid=description.guid, unzipDirectory=folder, modelIdentifier=description.modelExchange.modelIdentifier, instanceName=name)
    unit.instantiate()
    if version == 2:
        unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    unit.enterContinuousTimeMode()
    return unit, {variable.name: variable for variable in description.modelVariables}


def reals(unit, version, variables):
    get = unit.getReal if version == 2 else unit.getFloat64
    return np.concatenate([np.atleast_1d(get([v.valueReference]) if version == 2 else get([v.valueReference], nValues=count(v))) for v in variables])


def count(variable):
    return math.prod(int(d.start) for d in variable.dimensions) if variable.dimensions else 1


def set_reals(unit, version, variable, values):
    (unit.setReal if version == 2 else unit.setFloat64)([variable.valueReference], [float(v) for v in values])


ARRAYS = """
arrays:
  graphs:
    g:
      nodes:
        n:
          input_ports: {drive: {shape: [2], type: float64, default_value: [0.3, -0.2]}}
          parameters:
            W: {value: [[0.1, -1.2], [0.7, 0.4]]}
            x: {default_initial_value: [0.5, -0.3], time_derivative: 'numpy.tanh(numpy.matmul(W, x)) * drive - x * s'}
            s: {default_initial_value: 1.5, time_derivative: 'drive[0] * numpy.sum(x) - back * s'}
            back: {value: 'numpy.exp(0.5 * s)'}
          output_ports: {x: {value: x}, energy: {value: 'numpy.sum(x * x) * back'}}
"""
# A side of each condition is not taken before derivatives are asked for; sides are Python's numbers, and arrays'.
CHOICES = """
choices:
  graphs:
    g:
      nodes:
        n:
          parameters:
            k: {value: 0.7}
            fall: {value: "k * x ** 2 if x > 0 else numpy.tanh(k * x)"}
            x: {default_initial_value: 0.5, time_derivative: "fall / (1.0 + k) - y"}
            y: {default_initial_value: -0.5, time_derivative: "(k * numpy.exp(y) if y > 0 else (y / k if y > -1 else y)) + x"}
          output_ports: {x: {value: x}, of: {value: "y if x > 0 else numpy.sin(y)"}}
"""
DERIVED = {
    "fitzhugh_nagumo": 0.01,
    "hodgkin_huxley": 0.01,
    "tank": 1,
    "arrays": 0.1,
    "choices": 0.1,
}
WRITTEN = {"arrays": ARRAYS, "choices": CHOICES}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", DERIVED)
def test_directional_derivatives_are_those_of_differences(name, version, tmp_path):
    dt = DERIVED[name]
    path = {"tank": MODELS / "tank.yaml"}.get(name, ROOT / f"examples/{name}.yaml")
    if name in WRITTEN:
        path = tmp_path / f"{name}.yaml"
        path.write_text(WRITTEN[name])
    unit, variables = model_exchange(make(path, tmp_path / "x.fmu", "--fmi", str(version), dt=dt), tmp_path, "x", version)
    rates = [v for v in variables.values() if v.derivative is not None]
    states = [v.derivative for v in rates]
    unknowns = rates + [v for v in variables.values() if v.causality == "output" and v.type in ("Real", "Float64")]
    others = [v for v in variables.values() if v.type in ("Real", "Float64") and (v.causality == "input" or v.variability == "tunable")]
    assert rates and others
    rng = np.random.default_rng(3)
    start = reals(unit, version, states)
    unit.setContinuousStates((fmpy.fmi2.fmi2Real * len(start))(*start), len(start))
    direction = {v.name: rng.normal(size=count(v)) for v in states + others}
    got = derivative(unit, version, unknowns, states + others, direction)
    values = {v.name: reals(unit, version, [v]) for v in others}

    def at(h):
        moved = start + h * np.concatenate([direction[v.name] for v in states])
        unit.setContinuousStates((fmpy.fmi2.fmi2Real * len(moved))(*moved), len(moved))
        for v in others:
            set_reals(unit, version, v, values[v.name] + h * direction[v.name])
        return reals(unit, version, unknowns)

    h = 1e-6
    expected = (at(h) - at(-h)) / (2 * h)
    at(0)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    assert np.abs(got).max() > 0
    if version == 3:  # the same numbers, from the other side
        weights = rng.normal(size=len(got))
        adjoint = unit.getAdjointDerivative(
            [v.valueReference for v in unknowns], [v.valueReference for v in states + others], weights.tolist(), nSensitivity=sum(map(count, states + others))
        )
        along = np.concatenate([direction[v.name] for v in states + others])
        np.testing.assert_allclose(np.dot(adjoint, along), np.dot(weights, got), rtol=1e-9)
    unit.terminate()
    unit.freeInstance()


def derivative(unit, version, unknowns, knowns, direction):
    by = np.concatenate([direction[v.name] for v in knowns]).tolist()
    references = [v.valueReference for v in unknowns], [v.valueReference for v in knowns]
    if version == 2:
        return np.array(unit.getDirectionalDerivative(*references, by))
    return np.array(unit.getDirectionalDerivative(*references, by, nSensitivity=sum(map(count, unknowns))))


def test_directional_derivatives_are_told_where_there_are_some(tmp_path):
    description = fmpy.read_model_description(make(MODELS / "tank.yaml", tmp_path / "tank.fmu"))
    assert description.modelExchange.providesDirectionalDerivative
    unit, of_tank = slave(make(MODELS / "tank.yaml", tmp_path / "tank.fmu"), tmp_path, "tank")
    unit.exitInitializationMode()
    with pytest.raises(Exception, match="failed"):
        unit.getDirectionalDerivative([of_tank["tank.temperature"]], [of_tank["tank.power"]], [1.0])
    unit.freeInstance()


# ------------------------------------------------------------------ methods


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("method", ["rk4", "exponential_euler", "dopri5"])
def test_steps_by_another_method(method, version, tmp_path):
    """Co-simulation takes the method's steps, with the numbers of the engine; model exchange has the same right-hand side by any."""
    model = ROOT / "examples/fitzhugh_nagumo.yaml"
    fmu = make(model, tmp_path / "fhn.fmu", "--fmi", str(version), "--method", method, dt=0.5)
    assert validate_fmu(fmu) == []
    state = mdf_c.load(model).compile(method=method).state()
    trace = []
    for i in range(20):
        state.evaluate(None if i == 0 else 0.5)
        trace.append({"membrane.V": state.output("membrane", "V"), "membrane.W": state.output("membrane", "W")})
    expect_equal(fmu, trace, version, dt=0.5)
    plain = make(model, tmp_path / "plain.fmu", "--fmi", str(version), dt=0.5)
    ends = [
        fmpy.simulate_fmu(path, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-8, stop_time=10, output_interval=1)["membrane.V"].tolist()
        for path in (fmu, plain)
    ]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("method", ["exponential_euler", "rk4"])
def test_states_that_are_arrays(method, tmp_path):
    """Slopes in a list, of an array whose elements change each other's: the numbers of the engine."""
    text = (ROOT / "examples/lorenz.yaml").read_text().replace("numpy.array([", "[").replace("y[2]])", "y[2]]")
    (tmp_path / "lorenz.yaml").write_text(text)
    fmu = make(tmp_path / "lorenz.yaml", tmp_path / "lorenz.fmu", "--method", method, dt=0.01)
    state = mdf_c.load(tmp_path / "lorenz.yaml").compile(method=method).state()
    trace = []
    for i in range(20):
        state.evaluate(None if i == 0 else 0.01)
        trace.append({"air.Y": state.output("air", "Y")})
    expect_equal(fmu, trace, 2, dt=0.01)


def test_a_loop_within_a_slope(tmp_path):
    """How a slope changes with its state, through a Loop: by the exponential Euler method in C."""
    (tmp_path / "m.yaml").write_text("""
m:
  graphs:
    g:
      nodes:
        n:
          parameters:
            x: {default_initial_value: 1.0, time_derivative: s - 2.0 * x}
            s: {function: "onnx::Loop", args: {M: 3, cond: true, v_initial: "[x * 0.1]", body: b}}
          output_ports: {x: {value: x}}
    b:
      metadata: {inputs: [i, c, s], outputs: [c2, s2]}
      nodes:
        m:
          input_ports: {i: {}, c: {}, s: {}}
          output_ports: {c2: {value: c}, s2: {value: s * 1.5 + 0.01}}
""")
    fmu = make(tmp_path / "m.yaml", tmp_path / "m.fmu", "--method", "exponential_euler")
    state = mdf_c.load(tmp_path / "m.yaml").compile(method="exponential_euler").state()
    trace = []
    for i in range(6):
        state.evaluate(None if i == 0 else STEP)
        trace.append({"n.x": state.output("n", "x")})
    expect_equal(fmu, trace, 2)


COUNTED = """
m:
  graphs:
    g:
      nodes:
        n:
          metadata:
            events: {once: {crosses: x - 0.5}, high: {crosses: x - 1.5}, there: {crosses: t + 1.0}, wave: {crosses: "numpy.sin(7.0 * t) - 0.5"}}
          parameters:
            t: {default_initial_value: 0.0, time_derivative: 1.0}
            x: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: jump, test: x >= 1.0 and x < 1.2, value: 3.0}]}
            y: {default_initial_value: 0.0, time_derivative: 0.5, conditions: [{id: follows, test: x > 2.5 and y > 0.2, value: -10.0}]}
          output_ports: {x: {value: x}, y: {value: y}}
"""


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange_counts_each_event_once(version, tmp_path):
    """However often an importer goes through event mode while what was crossed holds on; what follows from an event acts at once."""
    (tmp_path / "m.yaml").write_text(COUNTED)
    fmu = make(tmp_path / "m.yaml", tmp_path / "m.fmu", "--fmi", str(version), "--method", "dopri5")
    assert validate_fmu(fmu) == []
    result = fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-9, stop_time=2, output_interval=0.1)
    expected = mdf_c.run(tmp_path / "m.yaml", steps=21, dt=0.1, method="dopri5", rtol=1e-10, atol=1e-12).outputs["n"]
    assert [int(expected[name]) for name in ("once", "high", "there", "wave")] == [1, 1, 0, 3]
    for name, value in expected.items():
        assert result[f"n.{name}"][-1] == pytest.approx(float(value), abs=1e-6), name


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("model", ["ball.yaml", "pid.yaml"])
def test_the_source_has_no_warnings(model, compiler, version, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    fmu = make(MODELS / model, tmp_path / "m.fmu", "--fmi", str(version), "--source-only")
    source = Path(fmpy.extract(fmu, unzipdir=tmp_path / "m")) / "sources/fmu.c"
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", tmp_path / "m.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_events_that_are_located_are_counted(tmp_path):
    """By dopri5 a unit's counts and times of events, and what conditions do, are those of the engine."""
    model = ROOT / "examples/bouncing_ball.yaml"
    text = model.read_text().replace("          parameters:", "          metadata: {events: {peak: {crosses: speed, direction: falling}}}\n          parameters:", 1)
    (tmp_path / "ball.yaml").write_text(text)
    fmu = make(tmp_path / "ball.yaml", tmp_path / "ball.fmu", "--method", "dopri5")
    assert validate_fmu(fmu) == []
    state = mdf_c.load(tmp_path / "ball.yaml").compile(method="dopri5").state()
    trace = []
    for i in range(13):
        state.evaluate(None if i == 0 else STEP)
        trace.append({f"ball.{port}": state.output("ball", port) for port in ("height", "speed", "peak", "peak_time")})
    assert [trace[i]["ball.peak"] for i in (3, 4, 6, 8)] == [0, 1, 2, 3]
    expect_equal(fmu, trace, 2)


def test_slopes_that_lead_back_to_a_jump_are_an_error(tmp_path, capfd):
    (tmp_path / "relay.yaml").write_text(
        "m: {graphs: {g: {nodes: {n: {parameters: {x: {default_initial_value: 1.0, time_derivative: 'numpy.where(x > 0.5, -2.0, 1.0)'}}, output_ports: {o: {value: x}}}}}}}\n"
    )
    fmu = make(tmp_path / "relay.yaml", tmp_path / "relay.fmu", "--method", "dopri5", "--kind", "co-simulation", dt=0.25)
    with pytest.raises(Exception, match="DoStep failed"):
        fmpy.simulate_fmu(fmu, stop_time=40, step_size=20, output_interval=20)
    assert "lead back to the jump" in capfd.readouterr().out


# ------------------------------------------------------------------ events in co-simulation

SPIKES = """
spikes:
  graphs:
    g:
      nodes:
        n:
          parameters:
            v: {default_initial_value: 0.0, time_derivative: 1.0, conditions: [{id: reset, test: v >= 0.95, value: 0.0}]}
            w: {default_initial_value: 0.0, time_derivative: -1.0}
          output_ports: {v: {value: v}, w: {value: w}}
          METADATA
"""


def event_times(fmu, tmp_path, early, update=None):
    """Steps of 1 up to 4: when events were told, and where early returns ended."""
    description = fmpy.read_model_description(fmu)
    unit = fmpy.fmi3.FMU3Slave(
        guid=description.guid, unzipDirectory=str(fmpy.extract(fmu, tmp_path / "unit")), modelIdentifier=description.coSimulation.modelIdentifier, instanceName="x"
    )
    unit.instantiate(eventModeUsed=True, earlyReturnAllowed=early, intermediateUpdate=update)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    unit.updateDiscreteStates()
    unit.enterStepMode()
    time, told = 0.0, []
    while time < 4:
        event, ends, returned, last = unit.doStep(time, math.floor(time) + 1 - time)
        assert not ends and (early or not returned) and returned == (last < math.floor(time) + 1)
        time = last
        if event:
            told.append(time)
            unit.enterEventMode()
            assert unit.updateDiscreteStates()[0] is False
            unit.enterStepMode()
    unit.terminate()
    unit.freeInstance()
    return told


@pytest.mark.parametrize("counted", [False, True])
def test_a_step_ends_early_at_an_event(counted, tmp_path):
    metadata = "metadata: {events: {half: {crosses: '0.5 + w', direction: falling}}}" if counted else ""
    text = SPIKES.replace("METADATA", metadata)
    if counted:
        text = text.replace("v >= 0.95", "v >= 100")
    (tmp_path / "spikes.yaml").write_text(text)
    fmu = make(tmp_path / "spikes.yaml", tmp_path / "spikes.fmu", "--fmi", "3", dt=0.125)
    assert validate_fmu(fmu) == []
    # a step of euler looks at what the step before has made
    assert event_times(fmu, tmp_path, early=True) == ([0.5] if counted else [1.125, 2.25, 3.375])
    assert event_times(fmu, tmp_path, early=False) == ([1.0] if counted else [2.0, 3.0, 4.0])


def test_an_importer_told_of_each_step_may_return(tmp_path):
    times = []

    def update(environment, time, setRequested, getAllowed, stepFinished, canReturnEarly, requested, early):
        times.append(time)
        assert getAllowed and stepFinished and canReturnEarly and not setRequested
        requested[0] = time == 1.25

    (tmp_path / "spikes.yaml").write_text(SPIKES.replace("METADATA", "").replace("v >= 0.95", "v >= 0.7"))
    fmu = make(tmp_path / "spikes.yaml", tmp_path / "spikes.fmu", "--fmi", "3", dt=0.25)
    assert event_times(fmu, tmp_path, early=True, update=update) == [1.0, 2.0, 3.0, 4.0]
    assert times == [0.25 * i for i in range(1, 17)]


# ------------------------------------------------------------------ two of them


def slave(path, tmp_path, name):
    description = fmpy.read_model_description(path)
    folder = fmpy.extract(path, tmp_path / name)
    unit = fmpy.fmi2.FMU2Slave(
        guid=description.guid, unzipDirectory=str(folder), modelIdentifier=description.coSimulation.modelIdentifier, instanceName=name
    )
    unit.instantiate()
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    return unit, {variable.name: variable.valueReference for variable in description.modelVariables}


def test_two_of_them_coupled(tmp_path):
    """A controller and its plant, which exchange values after each step, beside two states of the engine that do."""
    dt, n_steps = 0.5, 400
    controller, of_controller = slave(make(MODELS / "pid.yaml", tmp_path / "pid.fmu", dt=dt), tmp_path, "pid")
    plant, of_plant = slave(make(MODELS / "tank.yaml", tmp_path / "tank.fmu", dt=dt), tmp_path, "tank")
    beside = [mdf_c.load(MODELS / name).compile().state() for name in ("pid.yaml", "tank.yaml")]
    measured, power = 20.0, 0.0
    modes, hottest = set(), 0.0
    for i in range(n_steps):
        controller.setReal([of_controller["pid.measured"]], [measured])
        plant.setReal([of_plant["tank.power"]], [power])
        for unit in (controller, plant):
            if i == 0:
                unit.exitInitializationMode()
            else:
                unit.doStep((i - 1) * dt, dt)
        beside[0].set_inputs({"measured": measured})
        beside[1].set_inputs({"power": power})
        for state in beside:
            state.evaluate(None if i == 0 else dt)
        (measured,) = plant.getReal([of_plant["tank.measured"]])
        (power,) = controller.getReal([of_controller["pid.power"]])
        assert measured == beside[1].output("tank", "measured").item()
        assert power == beside[0].output("pid", "power").item()
        modes.update(controller.getInteger([of_controller["pid.mode"]]))
        hottest = max(hottest, measured)
    assert modes == {0, 1}
    assert 55 < hottest < 70
    for unit in (controller, plant):
        unit.terminate()
        unit.freeInstance()


def test_states_are_taken_and_set_again(tmp_path):
    unit, references = slave(make(MODELS / "pid.yaml", tmp_path / "pid.fmu"), tmp_path, "pid")
    unit.setReal([references["pid.measured"]], [45.0])
    unit.exitInitializationMode()
    for i in range(4):
        unit.doStep(i * STEP, STEP)
    snapshot = unit.getFMUstate()
    first = [unit.doStep(i * STEP, STEP) or unit.getReal([references["pid.power"]]) for i in range(4, 8)]
    as_bytes = unit.serializeFMUstate(snapshot)
    unit.setFMUstate(snapshot)
    assert [unit.doStep(i * STEP, STEP) or unit.getReal([references["pid.power"]]) for i in range(4, 8)] == first
    unit.setFMUstate(unit.deSerializeFMUstate(as_bytes))
    assert [unit.doStep(i * STEP, STEP) or unit.getReal([references["pid.power"]]) for i in range(4, 8)] == first
    unit.freeFMUstate(snapshot)
    unit.freeInstance()


# ------------------------------------------------------------------ from source


@pytest.mark.skipif(bool(FAST), reason="a part of make check-fmu")
@pytest.mark.parametrize("version", [2, 3])
def test_cmake_builds_the_source(version, tmp_path):
    if subprocess.run(["cmake", "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("CMake is not installed")
    fmu = make(ROOT / "examples/cooling.yaml", tmp_path / "cooling.fmu", "--fmi", str(version), "--source-only")
    folder = Path(fmpy.extract(fmu, tmp_path / "fmu"))
    library = folder / "binaries" / ("linux64" if version == 2 else "x86_64-linux")
    subprocess.run(["cmake", "-S", folder / "sources", "-B", tmp_path / "b", f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={library}"], check=True)
    subprocess.run(["cmake", "--build", tmp_path / "b"], check=True)
    expect_equal(str(folder), trace_of(ROOT / "examples/cooling.yaml", 5), version)


@pytest.mark.parametrize("version", [2, 3])
def test_functions_of_a_plugin_are_in_the_fmu(tmp_path, version):
    plugin, model, drive = str(tmp_path / "mylab.so"), ROOT / "examples/plugin/squash.json", [1.0, -4.0, 2.0]
    subprocess.run(["cc", "-shared", "-fPIC", "-Imdf_c", "-o", plugin, "examples/plugin/mylab.c", "-lm"], check=True, cwd=ROOT)
    fmu = make(model, tmp_path / "squash.fmu", "--plugin", plugin, "--fmi", str(version), "-i", f"drive={drive}")
    assert validate_fmu(fmu) == []
    functions = mdf_c.Functions()
    functions.load_plugin(plugin)
    expected = mdf_c.run(model, {"drive": drive}, functions=functions)["out"]
    given = {name: float(value) for name, value in elements("squash.drive", drive)} if version == 2 else {"squash.drive": drive}
    result = fmpy.simulate_fmu(fmu, fmi_type="CoSimulation", stop_time=STEP, step_size=STEP, start_values=given)
    names = [name for name, _ in elements("squash.out", expected)] if version == 2 else ["squash.out"]
    assert is_same(np.ravel([result[name][-1] for name in names]), expected)


def test_an_error_of_a_plugin_ends_the_step(tmp_path):
    plugin = str(tmp_path / "mylab.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-Imdf_c", "-o", plugin, "examples/plugin/mylab.c", "-lm"], check=True, cwd=ROOT)
    model = tmp_path / "limited.yaml"
    model.write_text("m: {graphs: {g: {nodes: {n: {parameters: {limit: {value: 2.0}, y: {function: 'mylab::saturate', args: {x: 3.0}}}, "
                     "output_ports: {y: {value: y}}}}}}}")
    fmu = make(model, tmp_path / "limited.fmu", "--plugin", plugin, "--tunable", "n.limit")
    assert fmpy.simulate_fmu(fmu, fmi_type="CoSimulation", stop_time=STEP, step_size=STEP)["n.y"][-1] == 3 / (1 + 3 / 2)
    messages = []
    with pytest.raises(fmpy.fmi1.FMICallException):
        fmpy.simulate_fmu(
            fmu, fmi_type="CoSimulation", stop_time=STEP, step_size=STEP, start_values={"n.limit": 0.0},
            logger=lambda _c, _name, _status, _category, message: messages.append(message.decode()), debug_logging=True,
        )
    assert any("the limit has to be above 0" in message for message in messages)
