"""Functions that an ONNX file brings along compute what their calls do: the program with some of its calls, in its graph and in bodies, put into functions, those of which into functions again."""
import json
import random

_TYPES = {int: 2, float: 1, str: 3}  # of AttributeProto
_MOST_FUNCTIONS = 6


def _bodies(node):
    return [value["graph"] for value in node.get("attributes", {}).values() if isinstance(value, dict) and "graph" in value]


def _reads(nodes):
    """Names that calls read and none of them makes, those that their bodies capture too, in order."""
    made, read = set(), {}
    for node in nodes:
        names = list(node["inputs"])
        for body in _bodies(node):
            own = {x["name"] for x in body["inputs"] + body.get("initializers", [])}
            inside = _reads(body["nodes"])
            inside += [x["name"] for x in body["outputs"] if x["name"] not in {y for call in body["nodes"] for y in call["outputs"]}]
            names += [name for name in inside if name not in own]
        read.update({name: None for name in names if name and name not in made})
        made |= set(node["outputs"])
    return list(read)


def _names(nodes):
    """All names in calls and their bodies."""
    found = {}
    for node in nodes:
        found.update(dict.fromkeys(x for x in node["inputs"] + node["outputs"] if x))
        for body in _bodies(node):
            found.update(dict.fromkeys(x["name"] for x in body["inputs"] + body["outputs"] + body.get("initializers", [])))
            found.update(dict.fromkeys(_names(body["nodes"])))
    return list(found)


def _rename(nodes, names):
    for node in nodes:
        for part in ("inputs", "outputs"):
            node[part] = [names.get(x, x) for x in node[part]]
        for body in _bodies(node):
            for value in body["inputs"] + body["outputs"] + body.get("initializers", []):
                value["name"] = names[value["name"]]
            _rename(body["nodes"], names)


def _every_list(nodes):
    """(calls, names that are wanted of them) of bodies, at any depth."""
    for node in nodes:
        for body in _bodies(node):
            yield body["nodes"], [x["name"] for x in body["outputs"]]
            yield from _every_list(body["nodes"])


def _every_call(nodes):
    yield from nodes
    for inside, _ in _every_list(nodes):
        yield from inside


def _attribute_type(value):
    if isinstance(value, dict):
        return value.get("type", 4)
    if isinstance(value, list):
        return _TYPES[str if any(isinstance(x, str) for x in value) else float if any(isinstance(x, float) for x in value) else int] + 5
    return _TYPES[type(value)]


class Outlining:
    def __init__(self, rng, opset):
        self.rng, self.opset, self.functions = rng, opset, []

    def take_attributes(self, nodes):
        """Attributes of the calls become those of the function: (what it says of them, what its call gives)."""
        declared, defaults, given = [], {}, {}
        for node in _every_call(nodes):
            for key, value in node.get("attributes", {}).items():
                is_reference = isinstance(value, dict) and "ref" in value
                if isinstance(value, dict) and "graph" in value or value == [] or not (is_reference or self.rng.random() < 0.5):
                    continue
                name = self.rng.choice([key, f"{key}_{len(declared) + len(defaults)}"])
                if name in declared or name in defaults:
                    name = f"{key}__{len(declared) + len(defaults)}"
                if is_reference or self.rng.random() < 0.5:
                    declared.append(name)
                    given[name] = value
                else:
                    defaults[name] = value
                    if self.rng.random() < 0.3:  # said again
                        given[name] = value
                node["attributes"][key] = {"ref": name, "type": _attribute_type(value)}
        return declared, defaults, given

    def rename(self, nodes):
        """New names, of which many are those of other values outside."""
        names = _names(nodes)
        pool = [f"v{k}" for k in range(1, 2 * len(names) + 2)] + ["x", "y", "a"]
        renamed = dict(zip(names, self.rng.sample(pool, len(names))))
        _rename(nodes, renamed)
        return renamed

    def outline(self, nodes, wanted):
        """Puts some calls in succession into a function, in place."""
        rng = self.rng
        begin = rng.randrange(len(nodes))
        end = min(len(nodes), begin + rng.choice([1, 1, 2, 3, 5]))
        taken = json.loads(json.dumps(nodes[begin:end]))
        inputs, later = _reads(taken), set(_reads(nodes[end:])) | set(wanted)
        outputs = [x for node in taken for x in node["outputs"] if x in later]
        if not outputs:
            return
        rng.shuffle(inputs)
        rng.shuffle(outputs)
        passed = [x for x in inputs if rng.random() < 0.1]  # what is given is handed back too, and looked at by nobody
        declared, defaults, given = self.take_attributes(taken)
        names = self.rename(taken)
        formals = [names[x] for x in inputs]
        absent = [(node, k) for node in taken for k, x in enumerate(node["inputs"]) if x == "" and rng.random() < 0.5]
        for number, (node, k) in enumerate(absent):  # an input that is not there is one of the function, which is not there
            node["inputs"][k] = f"absent{number}"
            formals.append(f"absent{number}")
        function = {"name": f"F{len(self.functions)}", "inputs": formals, "outputs": [names[x] for x in outputs + passed], "attributes": declared, "defaults": defaults, "nodes": taken}
        call = {"op": f"local::{function['name']}", "inputs": inputs + [""] * (len(absent) if rng.random() < 0.5 else 0), "outputs": list(outputs)}
        if given:
            call["attributes"] = given
        self.functions.append(function)
        nodes[begin:end] = [call]
        if rng.random() < 0.4:
            self.outline(taken, function["outputs"])


def outlined(case):
    """The case with functions; None where it is no ONNX program, or has no call."""
    if case["format"] != "onnx" or not case["model"]["nodes"]:
        return None
    model = json.loads(json.dumps(case["model"]))
    outlining = Outlining(random.Random(json.dumps(case["model"])[:2000]), model["opset"])
    for _ in range(outlining.rng.choice([1, 2, 3])):
        lists = [(model["nodes"], [x["name"] for x in model["outputs"]])] + [x for x in _every_list(model["nodes"]) if x[0]]
        if len(outlining.functions) < _MOST_FUNCTIONS:
            outlining.outline(*outlining.rng.choice(lists))
    return {**case, "model": {**model, "functions": outlining.functions}} if outlining.functions else None


def findings(case, last, run):
    """Where the program with functions gives something else than ``last``, the lines of the last step. ``run(case)`` gives such lines."""
    other = outlined(case)
    if other is None:
        return []
    expected, found = ({line.partition(" ")[0]: line for line in lines if line.startswith(("result:", "error"))} for lines in (last, run(other)))
    name = "error" if ("error" in expected) != ("error" in found) else next((n for n in expected if n != "error" and expected[n] != found.get(n)), None)
    return [] if name is None else [{"way": "outlined", "kind": "different", "detail": [name, expected.get(name, "no error"), found.get(name, "no error")]}]
