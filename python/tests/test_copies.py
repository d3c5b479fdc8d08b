"""Copies and pickles: models and programs by what they were made from, results by their values, states not at all."""

import copy
import gc
import pickle

import numpy as np
import pytest
from conftest import DECAY, DOUBLE, model_of

import mdf_c
from mdf_c._library import Handle

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def pickled(thing, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(thing, protocol))


def y_of(program, x=3.0):
    state = program.state()
    state.set_input("x", x)
    state.evaluate()
    return float(state.output("n", "y"))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, *(lambda thing, p=p: pickled(thing, p) for p in PROTOCOLS)])
def test_models_and_programs(copied):
    model = mdf_c.load(model_of(DOUBLE))
    program = model.compile(seed=7)
    models, programs = [copied(model) for _ in range(3)], [copied(program) for _ in range(3)]
    del model, program
    gc.collect()
    for model, program in zip(models, programs):
        assert y_of(model.compile()) == 6 and model.id == "m" and model.graphs == ["g"]
        assert y_of(program) == 6 and program.settings == mdf_c.Settings(seed=7) and program.graph_id == "g"


def test_settings_travel():
    two = {"m": {"graphs": {"a": {"nodes": {"n": DOUBLE}}, "b": {"nodes": {"n": DECAY}}}}}
    program = pickled(mdf_c.compile(two, graph="b", float32=True, threads=1))
    state = program.state()
    state.evaluate()
    assert program.graph_id == "b" and state.output("n", "v").dtype == np.float32


def test_what_holds_them_is_copied_too():
    model = mdf_c.load(model_of(DOUBLE))
    program = model.compile()
    held = copy.deepcopy({"program": program, "list": [model, program]})
    assert held["program"] is held["list"][1] and y_of(pickled(held)["list"][1]) == 6


@pytest.mark.parametrize("suffix", ["json", "yaml", "bson"])
def test_a_model_of_a_file(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"m.{suffix}"
    mdf_c.load(model_of(DOUBLE)).save(path)
    monkeypatch.chdir(tmp_path)
    model = mdf_c.load(path.name)
    bytes_ = pickle.dumps([model, model.compile()])
    monkeypatch.chdir("/")
    assert y_of(pickle.loads(bytes_)[1]) == 6
    path.unlink()
    elsewhere, program = pickle.loads(bytes_)
    assert y_of(elsewhere.compile()) == 6 and y_of(program) == 6


def test_a_file_that_has_changed_is_not_pickled(tmp_path):
    path = tmp_path / "m.json"
    mdf_c.load(model_of(DOUBLE)).save(path)
    program = mdf_c.compile(path)
    path.write_text(path.read_text() + "\n")
    with pytest.raises(pickle.PicklingError, match="has changed"):
        pickle.dumps(program)
    path.unlink()
    with pytest.raises(pickle.PicklingError, match="can not be read"):
        pickle.dumps(program)
    assert y_of(copy.deepcopy(program)) == 6


def test_files_beside_the_model(tmp_path):
    """Weights in a file of their own: found where the model's file is, a clear error where it is not."""
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1000])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1000])],
        [weight],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    bytes_ = pickle.dumps(mdf_c.compile(path))
    assert mdf_c.run(pickle.loads(bytes_), {"x": np.ones(1000, np.float32)})["y"][999] == 1000
    path.unlink()
    with pytest.raises(mdf_c.MdfError, match="w.bin"):
        pickle.loads(bytes_)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_state_is_not_copied(copied):
    state = mdf_c.compile(model_of(DOUBLE)).state()
    with pytest.raises(TypeError, match=r"State can not be copied or pickled.*program\.state\(\)"):
        copied(state)
    state.evaluate()
    assert state.output("n", "y") == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_results_have_their_values_and_traces(copied):
    result = mdf_c.run(model_of(DOUBLE), {"x": [1.0, 2.0]}, steps=3, dt=0.5, record=True)
    other = copied(result)
    assert other["y"].tolist() == other["n.y"].tolist() == [2, 4] and other.results.keys() == result.results.keys()
    assert other.recorded("y").tobytes() == result.recorded("y").tobytes() and other.times.tolist() == [0, 0.5, 1]
    assert other.steps == 3 and other.state is None and other.program is None
    assert result.state is not None and result.program is not None
    with pytest.raises(mdf_c.MdfNameError):
        other["nowhere"]


def test_results_of_a_sweep(tmp_path):
    swept = mdf_c.sweep(model_of(DOUBLE), {"x": [1.0, 2.0]}, progress=False)
    assert pickled(swept)["y"].tobytes() == copy.deepcopy(swept)["y"].tobytes() == swept["y"].tobytes()


def test_things_of_the_engine_are_released_once_in_any_order():
    """Python may finalise what refers to each other in any order."""
    for order in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        released = []
        program = Handle(1, released.append)
        state = Handle(2, released.append, program)
        value = Handle(3, released.append, state)
        handles = [program, state, value]
        del program, state, value
        for i in order:
            handles[i] = handles[i].__del__()  # as the collector calls it
        assert released == [3, 2, 1], order
    with pytest.raises(TypeError):
        copy.copy(Handle(1, released.append))


def test_circles_of_states_and_views():
    for _ in range(50):
        state = mdf_c.compile(model_of(DOUBLE)).state()
        state.set_input("x", np.ones(2000))
        state.evaluate()
        circle = [mdf_c.EvaluableGraph(model_of(DOUBLE)), state, state.output("n", "y", copy=False)]
        circle.append(circle)
        del state, circle
    gc.collect()
