#!/usr/bin/env python3
"""Writes tests/data/actr_cases.json: what the functions of modeci_mdf.functions.actr and .ddm yield, and the numbers of numpy.random and of
Python's random that they draw.

    pip install modeci_mdf==0.4.15
    python3 tests/answers/generate_actr_cases.py

"calls": {"function", "args", "result"}; {"function", "args", "refused": true} where the reference raises an exception.
Seeds are texts: they have up to 64 bits.
"choices": {"seed", "n", "chosen"}: indices that conflict_resolution_function chooses of n productions, called again and again.
"trials": {"seed", "args", "times"}: what drift_diffusion_integrator gives; arguments are numbers or arrays, called once for each element.
"normals": {"seed", "numbers"}: numpy.random.standard_normal.
"uniforms": {"seed", "numbers"}: random.random.
"expressions": {"seed", "numbers"}: [expression, its value] in the order in which they draw.
"""
import copy
import json
import pathlib
import random

import numpy as np
from modeci_mdf.functions import actr
from modeci_mdf.functions.ddm import drift_diffusion_integrator

SEEDS = (0, 1, 42, 2**31 + 11, 2**32 - 1, 2**32 + 5, 2**64 - 1)
TYPES = {"fact": ["number", "next"], "pair": ["left", "right", "sum"], "bare": [], "odd": ["ISA", "same", "same"]}
MEMORY = [
    {"name": "zero", "ISA": "fact", "number": "0", "next": "1"},
    {"name": "one", "ISA": "fact", "number": "1", "next": "2"},
    {"name": "two", "ISA": "fact", "number": "2", "next": "2"},
    {"ISA": "pair", "left": "1", "right": "1", "sum": "2"},
    {"ISA": "pair", "left": "a b", "right": "c"},
    {"ISA": "bare"},
    {"ISA": "odd", "x": "p", "y": "q", "z": "r"},
    {"ISA": "True", "x": "True"},
]
GOAL = {"name": "g", "ISA": "sum", "a": "1", "b": "2", "count": "nil"}
RULES = [
    {"name": "start", "lhs": [{"buffer": "goal", "ISA": "sum", "a": "=x", "b": "=y", "count": "nil"}],
     "rhs": [{"buffer": "goal", "ISA": "sum", "count": "zero"}, {"buffer": "retrieval", "ISA": "fact", "number": "=x"}]},
    {"name": "both", "lhs": [{"buffer": "goal", "ISA": "sum", "a": "=x", "b": "-=x"}, {"buffer": "retrieval", "ISA": "fact", "number": "=x"}],
     "rhs": [{"buffer": "goal", "b": "=x"}]},
    {"name": "other", "lhs": [{"buffer": "retrieval", "ISA": "fact", "number": "-=z", "next": "=z"}], "rhs": []},
    {"name": "twice", "lhs": [{"buffer": "goal", "ISA": "no"}, {"buffer": "goal", "ISA": "=what"}], "rhs": [{"buffer": "goal"}]},
]


def calls():
    """(function, args), in the order of the function's parameters"""
    for chunk in MEMORY + [GOAL, {}, {"a": 1}, {"name": 1, "b": "x"}]:
        yield "chunk_to_string", dict(chunk=chunk)
        yield "pattern_to_string", dict(pattern=chunk)
    for values in (["=x", "-=y"], ["a-=b", "--=c", "=", "=="], ["a", "b c", ""]):
        yield "pattern_to_string", dict(pattern={"buffer": "goal", **{f"s{i}": value for i, value in enumerate(values)}})
    for pattern in ({}, {"buffer": "goal", "count": "one"}, {"a": "2", "new": "=v"}, {"name": "h", "buffer": "goal"}):
        for goal in (GOAL, {}, 0, {"buffer": "x"}, 1):
            yield "change_goal", dict(pattern=pattern, curr_goal=goal)
    words = ([], ["fact"], ["fact", "1"], ["fact", "=n", "=n"], ["fact", "=n", "-=n"], ["=t", "=n", "-=n", "2"], ["pair"], ["pair", "?", "b"],
             ["nothing"], ["fact", "!0"], ["fact", "!0!1"], ["=t", "=t"], ["bare"], ["odd"], ["False"], ["?", "?", "False"], ["fact", "2?n", "=n"],
             ["fact", "=n", "2=n"], ["?", "0:fact", "2:=n", "1:-=n"], ["1:1", "fact"], ["a:"], ["a b"], ["$"], ["fact", "="], ["fact", "-="],
             ["?", "?", "?", "?", "?"], ["fact", "1", "2", "=more"], ["=_x", "", "1:1"], ["fact 1 2"], ["x.y:1"], ["=v:fact"], ["?v:fact"])
    for pattern in words:
        yield "retrieve_chunk", dict(pattern={"buffer": "retrieval", **{f"s{i}": w for i, w in enumerate(pattern)}}, dm_chunks=MEMORY, types=TYPES)
    ask = {"buffer": "retrieval", "ISA": "=t"}
    for memory, types in (([], TYPES), (MEMORY, {}), (MEMORY[5:], {}), ([{"a": 3}], TYPES), ([{"a": "x:y"}], TYPES), ([{"a": "?v"}], TYPES),
                          ([{}], TYPES), ([{"a": "x:?v"}], TYPES), ("no", TYPES), ([1], TYPES), (MEMORY, []), (MEMORY, {"fact": ["one"]})):
        yield "retrieve_chunk", dict(pattern=ask, dm_chunks=memory, types=types)
    yield "retrieve_chunk", dict(pattern={"buffer": "retrieval"}, dm_chunks=[{}], types=TYPES)
    yield "retrieve_chunk", dict(pattern=[], dm_chunks=MEMORY, types=TYPES)
    for retrieval in ({}, MEMORY[0], MEMORY[1], MEMORY[2], {"ISA": "fact"}, {"ISA": "fact", "number": "1:2"}):
        yield "pattern_matching_function", dict(productions=RULES, goal=GOAL, retrieval=retrieval)
    for goal in ({}, {"ISA": "sum", "a": "1", "b": "1"}, {"x": 1}, 3):
        yield "pattern_matching_function", dict(productions=RULES, goal=goal, retrieval=MEMORY[1])
    for rule in ({}, {"lhs": [{}]}, {"lhs": [{"buffer": "other", "ISA": "x"}]}, {"lhs": []}, {"lhs": 1},
                 {"lhs": [{"buffer": "goal", "a": 3}]}, {"lhs": [], "bindings": {"old": "1"}, "rhs": []}):
        yield "pattern_matching_function", dict(productions=[rule], goal=GOAL, retrieval={})
    for context in ({}, {"goal": {"a": "1"}}, {"goal": {"a": "1", "b": "1"}}, {"goal": {"a": "1", "b": "2"}}, {"goal": None}):
        for words in (["a:1"], ["a:=x", "b:=x"], ["1"], ["a:=x", "b:-=x"], ["?"], ["a.b:1"], ["a:=x", "=x:1"]):
            side = {"buffer": "goal", **{f"s{i}": word for i, word in enumerate(words)}}
            yield "match_production", dict(production={"lhs": [side]}, context=context)
    fired = actr.pattern_matching_function(copy.deepcopy(RULES), GOAL, MEMORY[1])
    for production in fired + [{}, {"rhs": []}, {"rhs": [{"buffer": "goal", "a": "b"}]}, {"bindings": {}}, {"rhs": [{"a": "b"}], "bindings": {}},
                               {"rhs": [{"buffer": "goal", "a": 1}], "bindings": {}}, {"rhs": [{"buffer": "goal", "a": "b"}], "bindings": {"goal": "c"}},
                               {"rhs": [{"buffer": "goal", "a": "==b="}, {"buffer": "goal", "a": "=b=c"}], "bindings": {"bc": "d"}}]:
        yield "update_goal", dict(production=production)
        yield "update_retrieval", dict(production=production)
        yield "update_buffer", dict(production=production, buffer="goal")
        yield "check_termination", dict(production=production)
    yield "update_goal", dict(production=3)
    for productions in ([], 3, [{"name": "only"}]):
        yield "conflict_resolution_function", dict(productions=productions)
    yield from random_calls()


def random_calls():
    """Patterns and memories put together at random from few words, so that many of them match."""
    rng = random.Random(7)
    chunk_words, pattern_words = ["a", "b", "c", "d e"], ["a", "b", "=x", "=y", "-=x", "!a", "?", "=x-=y", "1:a", "2:=x", "a=x", "!b?y"]
    for _ in range(150):
        memory = [{f"s{i}": rng.choice(chunk_words) for i in range(rng.randint(1, 4))} for _ in range(6)]
        pattern = {"buffer": "retrieval", **{f"s{i}": rng.choice(pattern_words) for i in range(rng.randint(1, 4))}}
        yield "retrieve_chunk", dict(pattern=pattern, dm_chunks=memory, types={word: list("pqrstuvw") for word in "abcd"})
        sides = [{"buffer": buffer, **{f"s{i}": rng.choice(pattern_words) for i in range(rng.randint(1, 3))}} for buffer in ("goal", "retrieval")]
        yield "pattern_matching_function", dict(productions=[{"lhs": sides}], goal=memory[0], retrieval=memory[1])


def run(function, args):
    case = {"function": function, "args": copy.deepcopy(args)}
    try:
        case["result"] = getattr(actr, function)(*copy.deepcopy(list(args.values())))
    except Exception:
        case["refused"] = True
    return case


def choices():
    for seed in SEEDS:
        for n in (1, 2, 3, 5, 64, 100):
            random.seed(seed)
            yield {"seed": str(seed), "n": n, "chosen": [actr.conflict_resolution_function(range(n)) for _ in range(12)]}


def seed_numpy(seed):
    np.random.seed(seed if seed < 2**32 else [seed % 2**32, seed // 2**32])


def trials():
    ordinary = dict(starting_point=0.0, non_decision_time=0.2, drift_rate=0.5, threshold=1.0)
    for seed in SEEDS:
        for more in ({}, dict(noise=0.5), dict(dt=0.001), dict(noise=0.0), dict(noise=0.0, drift_rate=-0.7, dt=0.1), dict(starting_point=-0.75),
                     dict(starting_point=1.0), dict(starting_point=-1.5), dict(drift_rate=[0.5, -1.0, 3.0]),
                     dict(drift_rate=[[0.5], [-1.0]], threshold=[1.0, 0.25, 2.0], noise=[0.3, 1.0, 0.0]), dict(drift_rate=[])):
            args = {**ordinary, **more}
            seed_numpy(seed)
            times = np.array(np.vectorize(drift_diffusion_integrator, otypes=[float])(**args))
            yield {"seed": str(seed), "args": args, "times": times.tolist()}


def expressions():
    for seed in SEEDS[:6]:
        seed_numpy(seed)
        numbers = []
        for text in ("numpy.random.random()", "numpy.random.random_sample((2, 2))", "numpy.random.rand()", "numpy.random.rand(2, 3)",
                     "numpy.random.randn(3)", "numpy.random.standard_normal(size=2)", "numpy.random.normal()", "numpy.random.normal(1.5, 0.25, [2])",
                     "numpy.random.uniform(-1, 3)", "numpy.random.uniform(high=2.5, size=(1, 2))", "numpy.random.randn()", "numpy.random.rand(0)"):
            numbers.append([text, np.asarray(eval(text, {"numpy": np})).tolist()])
        yield {"seed": str(seed), "numbers": numbers}


def main():
    normals, uniforms = [], []
    for seed in SEEDS:
        seed_numpy(seed)
        normals.append({"seed": str(seed), "numbers": np.random.standard_normal(700).tolist()[::7]})
        random.seed(seed)
        uniforms.append({"seed": str(seed), "numbers": [random.random() for _ in range(700)][::7]})
    sections = {"calls": [run(*call) for call in calls()], "choices": list(choices()), "trials": list(trials()), "normals": normals,
                "uniforms": uniforms, "expressions": list(expressions())}
    text = ",\n".join(f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]" for name, cases in sections.items())
    (pathlib.Path(__file__).parent.parent / "data" / "actr_cases.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
