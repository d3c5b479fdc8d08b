"""How times grow with sizes: each should grow no faster than the size.

Times are those that the processor spent on this process, so that what else the machine does counts for little.

A table is a row of TABLES: what grows, and a function that takes a size and gives the seconds of each thing that is timed. The
exponent of growth (1: linear) is that between the two largest sizes, where constant parts weigh least."""

import collections
import json
import math
import time

import numpy as np
from onnx import TensorProto, helper

import engines
import libmdf
import mdf_workloads
import workloads

Table = collections.namedtuple("Table", "title unit sizes seconds")
N_RUNS = 5


def least(function, n=N_RUNS):
    return min(function() for _ in range(n))


def evaluate(problem):
    runner = engines.Library(problem)
    runner.timer = time.process_time
    runner.run()
    return {"evaluate": least(runner.run)}


def iterations(n):
    return evaluate(workloads.build("logistic float64", n=n))


def rows(n):
    return evaluate(workloads.build("elman h=16 batch=1", steps=n))


def steps(n):
    problem = mdf_workloads.WORKLOADS["fitzhugh nagumo"]._replace(steps=n)
    runner = engines.LibrarySteps(problem)
    runner.timer = time.process_time
    return {"evaluate": least(runner.run)}


def elements(n):
    return evaluate(workloads.build("cumulative sum", n=n, steps=4))


def timed_model(path, inputs):
    """Seconds of loading, compiling and evaluating a file."""
    load_s, compile_s, evaluate_s = [], [], []
    for _ in range(N_RUNS):
        model = libmdf.Model(path)
        load_s.append(model.load_s)
        compile_s.append(model.compile_s)
        for _ in range(N_RUNS):
            model.set_inputs(inputs)
            evaluate_s.append(engines.clock(model.evaluate, timer=time.process_time))
        model.close()
    return {"load": min(load_s), "compile": min(compile_s), "evaluate": min(evaluate_s)}


def chain(n, first, last):
    """n operators, one after the other."""
    names = [first, *(f"v{i}" for i in range(1, n)), last]
    return [helper.make_node("Add" if i % 2 else "Mul", [names[i], "k"], [names[i + 1]]) for i in range(n)]


def save(graph, name):
    path = engines.FOLDER / "models" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def scalar(name, dtype=TensorProto.DOUBLE):
    return helper.make_tensor_value_info(name, dtype, [])


CONSTANT = helper.make_tensor("k", TensorProto.DOUBLE, [], [0.5])


def operators(n):
    path = save(helper.make_graph(chain(n, "x", "y"), "chain", [scalar("x")], [scalar("y")], [CONSTANT]), "chain.onnx")
    return timed_model(path, {"x": np.array(1.0)})


def operators_of_a_body(n):
    on = helper.make_tensor("on", TensorProto.BOOL, [], [True])
    body = helper.make_graph([helper.make_node("Identity", ["going"], ["go"]), *chain(n, "x", "x_out")], "step",
                             [scalar("i", TensorProto.INT64), scalar("going", TensorProto.BOOL), scalar("x")],
                             [scalar("go", TensorProto.BOOL), scalar("x_out")])
    graph = helper.make_graph([helper.make_node("Loop", ["n", "on", "first"], ["y"], body=body)], "loop",
                              [scalar("n", TensorProto.INT64), scalar("first")], [scalar("y")], [on, CONSTANT])
    return timed_model(save(graph, "body.onnx"), {"n": np.array(100), "first": np.array(1.0)})


def nodes(n):
    """A chain of MDF nodes, each with a parameter that sums and one that decays."""
    path = engines.FOLDER / "models" / "chain.json"
    graph = {"nodes": {}, "edges": {}}
    for i in range(n):
        graph["nodes"][f"n{i}"] = {
            **({"input_ports": {"x": {}}} if i else {}),
            "parameters": {"gain": {"value": 0.5},
                           "sum": {"value": "sum + gain * x" if i else "sum + gain", "default_initial_value": 0},
                           "v": {"default_initial_value": 1.0, "time_derivative": "-v + gain"}},
            "output_ports": {"y": {"value": "sum + v"}}}
        if i:
            graph["edges"][f"e{i}"] = {"sender": f"n{i - 1}", "sender_port": "y", "receiver": f"n{i}", "receiver_port": "x"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"chain": {"format": "ModECI MDF v0.4", "graphs": {"g": graph}}}, indent=1))
    return timed_model(path, {})


TABLES = [
    Table("Iterations of a Loop over a scalar", "iterations", [1000, 10_000, 100_000, 1_000_000], iterations),
    Table("Rows that a Scan goes through", "rows", [100, 1000, 10_000, 100_000], rows),
    Table("Steps of an MDF model", "steps", [1000, 10_000, 100_000, 1_000_000], steps),
    Table("Operators in an ONNX graph", "operators", [100, 1000, 10_000, 100_000], operators),
    Table("Operators in the body of a Loop, 100 iterations", "operators", [100, 1000, 10_000, 100_000], operators_of_a_body),
    Table("Nodes in an MDF graph", "nodes", [100, 1000, 10_000, 100_000], nodes),
    Table("Elements of an array", "elements", [10_000, 100_000, 1_000_000, 4_000_000], elements),
]


def exponent(sizes, seconds):
    return math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])


def measure():
    """For each table: title, unit, sizes, and for each thing that is timed its seconds at each size and its exponent."""
    found = []
    for table in TABLES:
        by_size = [table.seconds(size) for size in table.sizes]
        columns = {name: [at_size[name] for at_size in by_size] for name in by_size[0]}
        found.append((table.title, table.unit, table.sizes,
                      {name: (seconds, exponent(table.sizes, seconds)) for name, seconds in columns.items()}))
    return found
