"""``mdf-fmu``: what it writes is valid, and gives the numbers of the engine in FMPy."""

import itertools
import math
import os
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
    pytest.mark.skipif(not native_file("mdf-fmu").exists() or os.uname().machine != "x86_64", reason="FMUs are for Linux on x86-64"),
    pytest.mark.skipif(not MODELS.is_dir(), reason="its models, and the compiler it calls, are those of a source tree"),
]


def make(model, path, *options, dt=STEP):
    """The path of the FMU; the message where there is none."""
    command = [native_file("mdf-fmu"), model, "--dt", str(dt), "-o", path, *options]
    made = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **FAST}, check=False, cwd=ROOT)
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
    "beam_search.yaml": "whose type or shape changes",
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


def test_a_limit_that_lets_go_at_once_is_told(tmp_path, capfd):
    (tmp_path / "held.yaml").write_text(HELD.replace("RESET", "0.7"))
    fmu = make(tmp_path / "held.yaml", tmp_path / "held.fmu")
    with pytest.raises(Exception, match="NewDiscreteStates failed"):
        fmpy.simulate_fmu(fmu, fmi_type="ModelExchange", solver="CVode", stop_time=1, output_interval=0.5)
    assert "again and again" in capfd.readouterr().out
    expect_equal(fmu, trace_of(tmp_path / "held.yaml", 9), 2)


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
