#!/usr/bin/env python3
"""Random models and the same with other names: what is bound in comprehensions and bodies is called as what stands around it, as far as nothing that is
read there is called so. Both must give the same bits in each step.

    check_names.py [--models N] [--from SEED] [--show]

One node has parameters that read each other, in any order: comprehensions within each other, Loops and Ifs whose bodies have one node or two, with parameters
and an edge, ports that take an outer name, and states. Plainly and by the fast ways."""
import argparse
import json
import os
import random
import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("MDF_C_BUILD", str((ROOT / os.environ.get("BUILD", "build")).resolve()))
try:
    import numpy as np
except ImportError:
    print("0 passed, 0 failed")
    sys.exit(0)
import mdf_c

N_STEPS = 3
BOUND = re.compile(r"@\d+@")  # a name that is still to be chosen
FIXED = re.compile(r"\b[pr]\d\b")  # a parameter of the node, or the port of another node
LISTS = ["[1.0, 2.0]", "[3, 1]", "[0.5]", "[2.0, -1.0, 4.0]"]


class Maker:
    """Makes one model. ``scopes``: by each bound name the text that it is seen in, and the names that are bound beside it."""

    def __init__(self, seed):
        self.rng, self.scopes, self.outside = random.Random(f"names {seed}"), {}, []

    def bind(self):
        name = f"@{len(self.scopes) + 1}@"
        self.scopes[name] = "", []
        return name

    def see(self, names, text):
        for name in names:
            self.scopes[name] = text, names

    def comprehension(self, names, depth):
        x, items = self.bind(), self.array(names, depth)
        if self.rng.random() < 0.25:
            y, others = self.bind(), self.array(names, depth)
            text = self.number([x, y], names, depth)
            self.see([x, y], text)
            return f"numpy.array([{text} for {x}, {y} in zip({items}, {others})] + [1.0])"
        test = f" if {x} > {self.rng.choice(['0', '1', f'numpy.sum({self.array(names, 0)})'])}" if self.rng.random() < 0.3 else ""
        if self.rng.random() < 0.25:
            y, others = self.bind(), self.array(names, depth)
            text = self.number([x, y], names, depth)
            self.see([x], f"{text} {test} {others} {y}")
            self.see([y], f"{text} {x}")
            return f"numpy.array([{text} for {x} in {items}{test} for {y} in {others}] + [1.0])"
        text = self.number([x], names, depth)
        self.see([x], f"{text} {test}")
        return f"numpy.array([{text} for {x} in {items}{test}] + [2.0])"

    def array(self, names, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return rng.choice(names) if names and rng.random() < 0.85 else rng.choice(LISTS)
        depth -= 1
        return rng.choice([self.comprehension] * 3 + [
            lambda *_: f"({self.array(names, depth)} * {self.number([], names, depth)})",
            lambda *_: f"numpy.ravel({self.array(names, depth)})[:2]",
            lambda *_: f"({self.array(names, depth)} if {self.number([], names, depth)} > 1 else {self.array(names, depth)})",
            lambda *_: f"numpy.array([{self.number([], names, depth)}, {self.number([], names, depth)}])"])(names, depth)

    def number(self, numbers, names, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            return rng.choice(numbers) if numbers and rng.random() < 0.8 else rng.choice(["1", "0.5", "2"])
        depth -= 1
        return rng.choice([
            lambda: f"({self.number(numbers, names, depth)} {rng.choice('+-*')} {self.number(numbers, names, depth)})",
            lambda: f"numpy.{rng.choice(['sum', 'mean', 'max'])}({self.array(names, depth)})",
            lambda: f"({self.number(numbers, names, depth)} if {self.number(numbers, names, depth)} < 1 else 0.5)",
            lambda: f"numpy.tanh({self.number(numbers, names, depth)})"])()

    def parameters(self, names):
        """Up to two parameters of a node in a body, and the names that it sees with them."""
        made = {}
        for _ in range(self.rng.choice([0, 1, 2])):
            name = self.bind()
            made[name] = {"value": self.array(names, 2)}
            names = names + [name]
        return made, names

    def loop(self, names):
        rng = self.rng
        i, on, state, yielded, node = (self.bind() for _ in range(5))
        own, inside = self.parameters(names + [state] + self.outside)
        ports = {state: {}, **({rng.choice(names): {}} if names and rng.random() < 0.4 else {})}
        last = {"input_ports": ports, "parameters": own, "output_ports": {yielded: {"value": f"numpy.ravel({self.array(inside, 2)} + {self.number([i], inside, 1)})[:2] * 0.3"}}}
        graph = {"metadata": {"inputs": [i, on, state], "outputs": [on, yielded]}, "nodes": {node: last}}
        beside = [i, on, state, yielded]
        if rng.random() < 0.5:
            before, sent, port = (self.bind() for _ in range(3))
            made, seen = self.parameters(names + [state])
            first = {"input_ports": {state: {}}, "parameters": made, "output_ports": {sent: {"value": self.array(seen, 1)}}}
            ports[port] = {}
            last["output_ports"][yielded]["value"] += f" + 0.1 * numpy.sum({port})"
            graph["nodes"] = {before: first, node: last}
            graph["edges"] = {"e": {"sender": before, "sender_port": sent, "receiver": node, "receiver_port": port}}
            beside += [sent, port]
            self.see([before, node], "")
            for name in made:
                self.scopes[name] = json.dumps(first), beside + list(made)
        for name in [*beside, *own]:
            self.scopes[name] = json.dumps(graph), beside + list(own)
        return {"function": "onnx::Loop", "args": {"M": rng.choice([1, 2, 3]), "v_initial": self.array(names, 1), "body": graph}}

    def branch(self, names):
        node, yielded = self.bind(), self.bind()
        own, inside = self.parameters(names + self.outside)
        graph = {"nodes": {node: {"parameters": own, "output_ports": {yielded: {"value": self.array(inside, 1)}}}}}
        self.see([yielded, *own], json.dumps(graph))
        return graph

    def model(self):
        rng, made, names = self.rng, {}, []
        self.outside = ["r0"] if rng.random() < 0.4 else []
        for k in range(rng.choice([2, 3, 4, 5])):
            name, kind = f"p{k}", rng.random()
            if kind < 0.2:
                made[name] = {"value": rng.choice([[1.0, 2.0, 0.5], [2, 1], [0.25, -1.0]])}
            elif kind < 0.6:
                made[name] = {"value": self.array(names, 3)}
            elif kind < 0.7:
                made[name] = {"value": f"{name} * 0.5 + numpy.sum({self.array(names, 2)}) * [1.0, 0.1]", "default_initial_value": [1.0, 2.0]}
            elif kind < 0.9:
                made[name] = self.loop(names)
            else:
                made[name] = {"function": "onnx::If", "args": {"cond": f"{self.number([], names, 2)} > 1", "then_branch": self.branch(names), "else_branch": self.branch(names)}}
            names = names + [name]
        order = rng.sample(names, len(names))
        node = {"parameters": {name: made[name] for name in order}, "output_ports": {f"o{k}": {"value": name} for k, name in enumerate(names)}}
        other = {"M": {"output_ports": {"r0": {"value": "[0.5, -2.0]"}}}} if self.outside else {}
        return json.dumps({"m": {"onnx_opset_version": "21", "graphs": {"g": {"nodes": {**other, "N": node}}}}}), names


def pair(seed):
    """The text of a model with names of their own for all, and with names that stand around."""
    maker = Maker(seed)
    text, names = maker.model()
    chosen = {}

    def resolved(name):
        return chosen.get(name, "b" + name.strip("@"))

    for name, (seen, beside) in maker.scopes.items():
        taken = {resolved(other) for other in [*BOUND.findall(seen), *beside] if other != name} | set(FIXED.findall(seen))
        free = [other for other in [*names, "N", "M", "g", "m", "r0", "o0", "o1"] if other not in taken]
        if free and maker.rng.random() < 0.8:
            chosen[name] = maker.rng.choice(free)
    return BOUND.sub(lambda found: "b" + found.group().strip("@"), text), BOUND.sub(lambda found: resolved(found.group()), text)


def results(text, plain):
    """Type, shape and bits of each output of N after each step; an error as its code."""
    try:
        state, steps = mdf_c.load(json.loads(text)).compile(plain=plain).state(), []
        for _ in range(N_STEPS):
            state.evaluate(None)
            steps.append([(port, np.asarray(value).dtype.str, np.shape(value), np.asarray(value).tobytes()) for port, value in state.outputs()["N"].items()])
        return steps
    except mdf_c.MdfError as error:
        return error.code


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    n_failed = 0
    for seed in range(asked.first, asked.first + asked.models):
        texts = pair(seed)
        expected, *others = [results(text, plain) for text in texts for plain in (True, False)]
        if any(other != expected for other in others):
            n_failed += 1
            print(f"seed {seed}: {[other if isinstance(other, str) else other == expected for other in others]}" + (f"\n{texts[0]}\n{texts[1]}" if asked.show else ""))
    print(f"{asked.models - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
