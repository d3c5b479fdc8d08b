"""A case made smaller while what was found stays: parts are left out, expressions replaced by parts of them, numbers by 0 and 1."""
import copy
import re
import time

import case as cases


def shrink(case, still_found, limit_s=30.0):
    """The smallest case that was come by within ``limit_s`` for which ``still_found(case)`` holds."""
    end, before = time.monotonic() + limit_s, None
    while before != case and time.monotonic() < end:
        before = case
        for stage in (_runs, _nodes, _parts, _leaves):
            case = _stage(stage, case, still_found, end)
    return case


def _stage(stage, case, still_found, end):
    """All changes of one kind, one after the other; after one that was taken it goes on where it was."""
    n_tried, is_changed = 0, True
    while is_changed:
        is_changed = False
        for k, candidate in enumerate(stage(case)):
            if k < n_tried:
                continue
            if time.monotonic() > end:
                return case
            smaller = candidate()
            if cases.size(smaller) < cases.size(case) and _is_case(smaller) and still_found(smaller):
                case, is_changed, n_tried = smaller, True, k
                break
    return case


def _is_case(case):
    """Whether what is left can still be written as a file."""
    try:
        return bool(cases.encode(case))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        return False


def _with(case, **changes):
    return {**case, **changes}


def _instead(case, **changes):
    return lambda: _with(case, **changes)


def _runs(case):
    phases = case["phases"]
    for k in range(len(phases) - 1, -1, -1):
        if len(phases) > 1:
            yield _instead(case, phases=phases[:k] + phases[k + 1:])
        if phases[k]["inputs"]:
            yield _instead(case, phases=phases[:k] + [{**phases[k], "inputs": {}}] + phases[k + 1:])
        for steps in (1, 2, 3, phases[k]["steps"] // 2, phases[k]["steps"] - 1):
            if 0 < steps < phases[k]["steps"]:
                yield _instead(case, phases=phases[:k] + [{**phases[k], "steps": steps}] + phases[k + 1:])
    if case.get("dt") is not None and case["dt"] != 1:
        yield _instead(case, dt=None)
        yield _instead(case, dt=1)


def _paths(value, path=()):
    """Paths of all containers, the outermost first."""
    if isinstance(value, (dict, list)):
        yield path
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[key], path + (key,))


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _changed(case, path, change, *arguments):
    """What makes a case of which ``change`` has changed one container."""

    def make():
        model = copy.deepcopy(case["model"])
        change(_at(model, path), *arguments)
        return _with(case, model=model)

    return make


def _pop(container, key):
    container.pop(key)


def _put(container, key, value):
    container[key] = value


def _mentions(value, name):
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", str(value)) is not None


def _nodes(case):
    """Whole nodes, with the edges and conditions that name them; calls of an ONNX program, whose outputs others then take from its inputs."""
    for path in list(_paths(case["model"])):
        graph = _at(case["model"], path)
        if not isinstance(graph, dict) or "nodes" not in graph:
            continue
        for key in list(graph["nodes"]) if isinstance(graph["nodes"], dict) else range(len(graph["nodes"])):
            if isinstance(graph["nodes"], dict):
                yield _changed(case, path, _drop_node, key)
            else:
                for source in list(dict.fromkeys(graph["nodes"][key]["inputs"]))[:3]:
                    yield _without_call(case, path, key, source)
        if isinstance(graph["nodes"], list) and len(graph["outputs"]) > 1:
            for key in range(len(graph["outputs"])):
                yield _changed(case, path + ("outputs",), _pop, key)


def _without_call(case, path, key, source):
    def make():
        outputs = _at(case["model"], path)["nodes"][key]["outputs"]
        return _with(case, model=_renamed(_changed(case, path + ("nodes",), _pop, key)()["model"], outputs, source))

    return make


def _drop_node(graph, name):
    del graph["nodes"][name]
    if "edges" in graph:
        graph["edges"] = {k: e for k, e in graph["edges"].items() if name not in (e.get("sender"), e.get("receiver"))}
    conditions = graph.get("conditions", {})
    specific = conditions.get("node_specific", {})
    for key in [k for k, v in specific.items() if k == name or _mentions(v, name)]:
        del specific[key]
    for key in [k for k, v in conditions.get("termination", {}).items() if _mentions(v, name)]:
        del conditions["termination"][key]


def _renamed(value, names, source):
    if isinstance(value, dict):
        return {k: _renamed(v, names, source) for k, v in value.items()}
    if isinstance(value, list):
        return [_renamed(v, names, source) for v in value]
    return source if isinstance(value, str) and value in names and value else value


def _parts(case):
    for path in list(_paths(case["model"])):
        container = _at(case["model"], path)
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            yield _changed(case, path, _pop, key)
            if isinstance(container[key], dict) and set(container[key]) & {"condition", "dependencies"} or isinstance(container, dict) and key == "dependencies":
                for part in container[key] if isinstance(container[key], list) else []:
                    if isinstance(part, dict) and path:
                        yield _changed(case, path[:-1], _put, path[-1], part)
        if isinstance(container, dict) and isinstance(container.get("condition"), dict) and path:
            yield _changed(case, path[:-1], _put, path[-1], container["condition"])


def _leaves(case):
    for path in list(_paths(case["model"])):
        container = _at(case["model"], path)
        for key in list(container) if isinstance(container, dict) else range(len(container)):
            for smaller in _smaller(container[key]):
                yield _changed(case, path, _put, key, smaller)
    for k, phase in enumerate(case["phases"]):
        for name, value in phase["inputs"].items():
            for smaller in [*_smaller(value), 1]:
                rest = {n: v for n, v in phase["inputs"].items() if n != name}
                for inputs in (rest, {**phase["inputs"], name: smaller}):
                    yield _instead(case, phases=case["phases"][:k] + [{**phase, "inputs": inputs}] + case["phases"][k + 1:])


def _smaller(value):
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [x for x in (0, 1, round(value) if abs(value) < 1e9 else 0) if len(str(x)) < len(str(value))]
    if isinstance(value, str):
        return _smaller_expressions(value)
    if isinstance(value, list) and len(value) > 1 and not any(isinstance(x, (dict, list)) for x in value):
        return [value[:1], value[:-1]]
    return []


def _smaller_expressions(text):
    found = ["0", "1"] if re.search(r"[^\w.:\[\]]", text) else []
    found += re.findall(r"(?<![\w.])[a-z]+\d+(?:\[\d\])?", text)
    stack = []
    for i, character in enumerate(text):
        if character in "([":
            stack.append(i)
        elif character in ")]" and stack:
            begin = stack.pop()
            inside = text[begin + 1:i]
            before = re.search(r"[\w.]*$", text[:begin]).group()
            found += [inside, text[:begin - len(before)] + "(" + inside + ")" + text[i + 1:] if before else text[:begin] + inside + text[i + 1:]]
            found += [text[:begin - len(before)] + x + text[i + 1:] for x in ("0", "1")]
    for separator in (" if ", " else ", " and ", " or ", " + ", " - ", " * ", " / ", " // ", " % ", " ** ", " < ", " > ", " <= ", " >= ", " == ", " != ", ", "):
        if separator in text:
            found += text.split(separator)
    return [x for x in dict.fromkeys(found) if x and len(x) < len(text)]
