#!/usr/bin/env python3
"""Writes tests/data/schedule_cases.json: schedules as graph-scheduler itself makes them.

    pip install graph-scheduler==1.2.2
    python3 tests/answers/generate_schedule_cases.py                 write the cases
    python3 tests/answers/generate_schedule_cases.py --compare N     run N other random cases, and N where time is exact, through build/mdf-run and compare: graph-scheduler takes about 0.12 s for each of them

A case: {"name", "nodes", "edges", "conditions", "finished", "n_calls", "calls"}. Each node has one letter and counts its runs in a parameter n; an edge
"A>B" carries the count. A node in `finished` has an output port is_finished that holds from that run on; another is finished once it has run in the
call. `conditions` is what MDF calls so. `calls` has a text for each evaluation: its execution sets, nodes in alphabetical order, "-" where a set is
empty; it is null where graph-scheduler refuses the conditions, at once or in one of n_calls evaluations. Where time is exact (the metadata of `conditions`
say so) `times` are those of all sets, in milliseconds.
graph-scheduler keeps a consideration set in a Python set; only cases whose outcome is the same for every order of its nodes are taken.
"""
import fractions
import itertools
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import warnings

import graph_scheduler as gs
from graph_scheduler import condition as gsc

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
N_RANDOM, N_RANDOM_EXACT, MOST_SETS, SEED = 160, 60, 60, "mdf_c schedules"
ESU = "environment_state_update"


class NoCase(Exception):
    """It does not end; or a node has been made to wait for itself, which graph-scheduler does where it breaks a circle of two, and
    then never runs it: a fault that the engine does not share."""


def C(kind, **kwargs):
    return {"type": kind, "kwargs": kwargs}


# --- graph-scheduler -----------------------------------------------------------

MILLISECONDS = {"millisecond": 1, "microsecond": fractions.Fraction(1, 1000)}
compare_by_reals = gsc._unit_registry.Quantity.compare


def compare_exactly(quantity, other, op):
    """In place of pint's comparison, which brings times to one unit by a real: by that 9000 us are less than 9 ms."""
    if not {str(quantity.u), str(getattr(other, "u", None))} <= MILLISECONDS.keys():
        return compare_by_reals(quantity, other, op)
    return op(*(fractions.Fraction(str(time.m)) * MILLISECONDS[str(time.u)] for time in (quantity, other)))


gsc._unit_registry.Quantity.compare = compare_exactly


class Node(str):
    """A node whose place in Python's sets is its rank. (A text, since graph-scheduler joins nodes in its messages.)"""

    def __new__(cls, letter, rank, finished_from):
        node = super().__new__(cls, letter)
        node.letter, node.rank, node.finished_from, node.n, node.scheduler = letter, rank, finished_from, 0, None
        return node

    def __hash__(self):
        return self.rank

    def __eq__(self, other):  # graph-scheduler caches by graph: nodes of two cases must differ
        return self is other

    def __ne__(self, other):
        return self is not other

    def is_finished(self, execution_id):
        if self.finished_from is not None:
            return self.n >= self.finished_from
        return self.scheduler.counts_total[execution_id][gs.TimeScale.ENVIRONMENT_STATE_UPDATE][self] > 0


def scale(value):
    return gs.TimeScale[value.split(".")[1]] if isinstance(value, str) and value.startswith("TimeScale.") else value


def build(condition, nodes):
    """A condition of MDF as graph-scheduler's object."""
    kwargs = dict(condition.get("kwargs") or {})
    cls = getattr(gsc, condition["type"])
    if condition["type"] in ("All", "Any", "And", "Or"):
        return cls(*[build(part, nodes) for part in kwargs.get("dependencies", [])])
    if "condition" in kwargs:
        return cls(build(kwargs.pop("condition"), nodes), **kwargs)
    positional = []
    for name in ("dependency", "dependencies", "node", "nodes"):
        if name in kwargs:
            ids = kwargs.pop(name)
            positional += [nodes[i] for i in (ids if isinstance(ids, list) else [ids])]
    for name in ("subject_senders", "subject_receivers"):
        if isinstance(kwargs.get(name), dict):
            kwargs[name] = {nodes[k]: v for k, v in kwargs[name].items()}
    if condition["type"] == "Threshold":
        kwargs.pop("parameter")
        return cls(*positional, parameter="n", **kwargs)
    return cls(*positional, **{k: scale(v) for k, v in kwargs.items()})


def is_exact(case):
    return "metadata" in case["conditions"]


def schedule(case, order, n_calls):
    """The calls of a case, and times of sets where these are exact, with the nodes in that order in Python's sets; None where it is refused."""
    finished = case.get("finished") or {}
    nodes = {c: Node(c, order.index(c), finished.get(c)) for c in case["nodes"]}
    graph = {nodes[c]: set() for c in case["nodes"]}
    for edge in case["edges"].split():
        graph[nodes[edge[2]]].add(nodes[edge[0]])
    conditions = case["conditions"]
    calls = []
    try:
        specific = {nodes[c]: [build(x, nodes) for x in (v if isinstance(v, list) else [v])]
                    for c, v in (conditions.get("node_specific") or {}).items()}
        ends = {gs.TimeScale[k.upper()]: build(v, nodes) for k, v in (conditions.get("termination") or {}).items()}
        mode = gs.SchedulingMode.EXACT_TIME if is_exact(case) else gs.SchedulingMode.STANDARD
        scheduler = gs.Scheduler(graph=graph, conditions=specific, termination_conds=ends, mode=mode)
        if any(node in senders for node, senders in scheduler.graph.items()):
            raise NoCase
        for node in nodes.values():
            node.scheduler = scheduler
        for _ in range(n_calls):
            sets = []
            for execution_set in scheduler.run():
                sets.append("".join(sorted(n.letter for n in execution_set)) or "-")
                if len(sets) > MOST_SETS:
                    raise NoCase
                for node in execution_set:
                    node.n += 1
            calls.append(" ".join(sets))
    except (gsc.ConditionError, gs.SchedulerError, gs.time.TimeScaleError, IndexError, KeyError, ValueError):
        return None
    return calls, [float(time.absolute.to("ms").m) for time in scheduler.execution_timestamps[None]] if is_exact(case) else None


def orders(nodes, rng):
    every = [list(p) for p in itertools.permutations(nodes)] if len(nodes) <= 4 else None
    if every is not None:
        return every
    some = [list(nodes), list(reversed(nodes))]
    while len(some) < 12:
        some.append(rng.sample(nodes, len(nodes)))
    return some


def complete(case, n_calls, rng):
    """The case with its calls; None where the outcome depends on the order of nodes, or the case does not end."""
    outcomes = []
    try:
        for order in orders(case["nodes"], rng):
            outcome = schedule(case, order, n_calls)
            if outcome not in outcomes:
                outcomes.append(outcome)
            if len(outcomes) > 1:
                return None
    except NoCase:
        return None
    calls, times = outcomes[0] or (None, None)
    return {**case, "n_calls": n_calls, "calls": calls, **({"times": times} if times else {})}


# --- cases ---------------------------------------------------------------------

def passes(n):
    return {ESU: C("AfterNPasses", n=n)}


def by_hand():
    """(name, nodes, edges, conditions of nodes, termination, number of calls, nodes with is_finished)"""
    chain, life = "A>B B>C", "TimeScale.LIFE"
    yield "have_run_nodes", "ABC", chain, {"A": C("Any", dependencies=[C("AtPass", n=0), C("AllHaveRun", dependencies=["B", "C"])])}, passes(3), 2, {}
    yield "have_run_one_life", "ABC", chain, {"C": C("AllHaveRun", dependencies="A", time_scale=life), "A": C("AtPass", n=1)}, passes(3), 2, {}
    yield "have_run_pass", "ABC", "", {"C": C("AllHaveRun", dependencies=["A"], time_scale="TimeScale.PASS"), "A": C("EveryNPasses", n=2), "B": C("Never")}, passes(4), 1, {}
    yield "end_of_some", "ABC", chain, {"C": C("EveryNCalls", dependency="B", n=3)}, {ESU: C("AllHaveRun", dependencies=["A", "B"])}, 2, {}
    yield "combined", "ABC", "A>C B>C", {"B": C("EveryNPasses", n=2), "C": C("AfterNCallsCombined", dependencies=["A", "B"], n=4)}, passes(5), 2, {}
    yield "combined_life", "ABC", "A>C B>C", {"C": C("AfterNCallsCombined", dependencies=["A", "B", "C"], n=7, time_scale=life)}, passes(3), 2, {}
    yield "combined_end", "AB", "A>B", {"B": C("EveryNCalls", dependency="A", n=2)}, {ESU: C("AfterNCallsCombined", dependencies=["A", "B"], n=5)}, 2, {}
    yield "finished", "ABC", chain, {"B": C("WhenFinished", dependency="A")}, passes(4), 2, {"A": 3}
    yield "finished_has_run", "ABC", chain, {"A": C("EveryNPasses", n=3), "C": C("WhenFinished", dependency="A"), "B": C("AtPass", n=2)}, passes(4), 2, {}
    yield "finished_any", "ABCD", "A>D B>D", {"D": C("WhenFinishedAny", dependencies=["A", "B"]), "C": C("Never")}, passes(4), 1, {"A": 3, "B": 2}
    yield "finished_all", "ABCD", "A>D B>D", {"D": C("WhenFinishedAll", dependencies=["A", "B"])}, passes(4), 1, {"A": 3, "B": 2}
    yield "finished_end", "ABC", chain, {}, {ESU: C("WhenFinishedAll")}, 2, {"B": 4}
    yield "finished_end_any", "ABC", chain, {"A": C("Always")}, {ESU: C("WhenFinishedAny")}, 2, {"A": 2, "B": 5, "C": 9}
    yield "before_node", "ABC", "A>C B>C", {"B": C("BeforeNode", nodes=["A"])}, passes(2), 1, {}
    yield "before_ancestor", "ABC", chain, {"C": C("BeforeNode", nodes=["A"])}, passes(2), 1, {}
    yield "before_nodes", "ABCDE", "A>B A>C B>D C>D", {"E": C("BeforeNodes", nodes=["B", "C"])}, passes(2), 1, {}
    yield "before_keep", "ABCD", "A>B C>D", {"D": C("BeforeNode", nodes=["B"], owner_senders="keep")}, passes(2), 1, {}
    yield "after_node", "ABCD", "A>B C>D", {"C": C("AfterNode", nodes=["B"])}, passes(2), 1, {}
    yield "after_descendant", "ABC", chain, {"A": C("AfterNode", nodes=["C"])}, passes(2), 1, {}
    yield "after_nodes", "ABCDE", "A>B A>C D>E", {"D": C("AfterNodes", nodes=["B", "C"])}, passes(2), 1, {}
    yield "after_middle", "ABC", chain, {"C": C("AfterNode", nodes=["A"])}, passes(2), 1, {}
    yield "with_node", "ABCD", "A>B C>D", {"B": C("WithNode", nodes=["D"])}, passes(2), 1, {}
    yield "with_merge", "ABCDE", "A>B B>E C>D", {"D": C("WithNode", nodes=["B"], owner_receivers="MERGE")}, passes(2), 1, {}
    yield "with_ancestor", "ABC", chain, {"C": C("WithNode", nodes=["A"])}, passes(2), 1, {}
    yield "add_edge", "ABC", "A>C", {"B": C("AddEdgeTo", nodes=["A"])}, passes(2), 1, {}
    yield "add_edge_back", "ABC", chain, {"C": C("AddEdgeTo", nodes=["A"])}, passes(2), 1, {}
    yield "remove_edge", "ABC", chain, {"B": C("RemoveEdgeFrom", nodes=["A"])}, passes(2), 1, {}
    yield "remove_cures", "ABC", chain + " C>A", {"A": C("RemoveEdgeFrom", nodes=["C"])}, passes(2), 1, {}
    yield "cycle", "ABC", chain + " C>A", {}, passes(2), 1, {}
    yield "several_conditions", "ABCD", "A>B C>D", {"C": [C("AfterNode", nodes=["B"]), C("EveryNPasses", n=2)], "D": [C("AddEdgeTo", nodes=["A"]), C("RemoveEdgeFrom", nodes=["C"])]}, passes(3), 1, {}
    yield "conflict", "ABC", "A>B", {"C": C("AfterNodes", nodes=["A", "B"], subject_senders="DISCARD")}, passes(2), 1, {}
    yield "ignored_conflict", "ABC", "A>B", {"C": C("AfterNodes", nodes=["A", "B"], subject_senders="DISCARD", ignore_conflicts=True)}, passes(2), 1, {}
    yield "no_pruning", "ABC", chain, {"C": C("BeforeNode", nodes=["A"], prune_cycles=False)}, passes(2), 1, {}
    yield "sequence_nwhen", "AB", "A>B", {}, {"environment_sequence": C("Not", condition=C("NWhen", condition=C("Always"), n=9)), ESU: C("Never")}, 3, {}
    yield "dead_update", "AB", "A>B", {}, {"environment_sequence": C("AfterNCalls", dependency="B", n=2), ESU: C("Never")}, 2, {}


def exact_by_hand():
    """The same where time is exact."""
    chain, inclusive = "A>B B>C", {"start_inclusive": False}
    yield "exact_same_start", "AB", "A>B", {"A": C("TimeInterval", start=10), "B": C("TimeInterval", start=10)}, {ESU: C("TimeTermination", t=12)}, 2, {}
    yield "exact_defaults", "ABC", chain, {}, {}, 2, {}
    yield "exact_repeats", "ABC", chain, {"A": C("TimeInterval", repeat=4), "B": C("TimeInterval", repeat=6, start=3), "C": C("TimeInterval", repeat="2500 us", start=1)}, {ESU: C("TimeTermination", t=20)}, 2, {}
    yield "exact_units", "ABC", chain, {"A": C("TimeInterval", repeat="3 ms"), "B": C("TimeInterval", start="0.5 ms", end="7 ms"), "C": C("TimeInterval", repeat=1500, unit="us")}, {ESU: C("TimeTermination", t="0.01 s")}, 1, {}
    yield "exact_exclusive", "AB", "A>B", {"A": C("TimeInterval", start=2, **inclusive), "B": C("TimeInterval", start=3, end=6, end_inclusive=False)}, {ESU: C("TimeTermination", t=8, inclusive=False)}, 2, {}
    yield "exact_nothing_to_meet", "AB", "A>B", {"A": C("TimeInterval", start=2, **inclusive)}, {ESU: C("TimeTermination", t=5, inclusive=False)}, 2, {}
    yield "exact_at_zero", "AB", "A>B", {"A": C("TimeInterval", start=0)}, passes(4), 2, {}
    yield "exact_termination_divides", "AB", "A>B", {"A": C("TimeInterval", repeat=4)}, {ESU: C("TimeTermination", t=6)}, 3, {}
    yield "exact_calls", "ABC", chain, {"A": C("TimeInterval", repeat=2), "B": C("EveryNCalls", dependency="A", n=2), "C": C("EveryNCalls", dependency="B", n=1)}, {ESU: C("AfterNCalls", dependency="C", n=2)}, 2, {}
    yield "exact_within", "ABC", chain, {"A": C("All", dependencies=[C("TimeInterval", repeat=2), C("BeforeNCalls", dependency="A", n=3)]), "B": C("Not", condition=C("TimeInterval", repeat=3)), "C": C("Any", dependencies=[C("TimeInterval", start=5, end=6), C("AtPass", n=1)])}, {ESU: C("TimeTermination", t=11)}, 2, {}
    yield "exact_structure", "ABC", "A>B", {"A": C("TimeInterval", repeat=2), "C": [C("AfterNode", nodes=["B"]), C("TimeInterval", repeat=3)]}, {ESU: C("TimeTermination", t=7)}, 1, {}
    yield "exact_clocks", "ABC", chain, {"A": C("EveryNPasses", n=2), "B": C("AtConsiderationSetExecution", n=3), "C": C("TimeInterval", repeat=4)}, {ESU: C("AfterNPasses", n=6)}, 2, {}
    yield "exact_cycle", "ABC", chain + " C>A", {"A": C("TimeInterval", repeat=1)}, passes(2), 1, {}


STRUCTURES = ["BeforeNode", "BeforeNodes", "WithNode", "AfterNode", "AfterNodes", "AddEdgeTo", "RemoveEdgeFrom"]
OPERATIONS = ["KEEP", "REPLACE", "DISCARD", "INTERSECTION", "UNION", "MERGE", "DIFFERENCE", "INVERSE_DIFFERENCE", "SYMMETRIC_DIFFERENCE"]
SCALES = ["PASS", "ENVIRONMENT_STATE_UPDATE", "ENVIRONMENT_SEQUENCE", "LIFE"]


def random_structure(rng, nodes, owner):
    kind = rng.choice(STRUCTURES)
    others = [c for c in nodes if c != owner]
    subjects = rng.sample(others, min(len(others), rng.choice([1, 2, 2, 3]) if kind.endswith("Nodes") else 1))
    kwargs = {"nodes": subjects}
    if kind[:3] in ("Bef", "Wit", "Aft"):
        names = ["owner_receivers", "subject_receivers"] + (["owner_senders", "subject_senders"] if kind[0] != "W" else [])
        for name in names:
            if rng.random() < .2:
                kwargs[name] = rng.choice(OPERATIONS)
                if name.startswith("subject") and rng.random() < .3:
                    kwargs[name] = {c: rng.choice(OPERATIONS) for c in subjects}
        if "REPLACE" in json.dumps(kwargs.get("subject_senders")):  # graph-scheduler then lets two nodes share one set of senders
            del kwargs["subject_senders"]
        for name in ("reconnect_non_subject_receivers", "prune_cycles"):
            if rng.random() < .1:
                kwargs[name] = False
        if rng.random() < .3:
            kwargs["ignore_conflicts"] = True
    return C(kind, **kwargs)


PLAIN = ["Always", "Never", "AtEnvironmentStateUpdateStart", "AtEnvironmentSequenceStart"]
CLOCKS = ["BeforePass", "AtPass", "AfterPass", "AfterNPasses", "EveryNPasses", "BeforeConsiderationSetExecution", "AtConsiderationSetExecution",
          "AfterConsiderationSetExecution", "AfterNConsiderationSetExecutions", "BeforeEnvironmentStateUpdate", "AtEnvironmentStateUpdate",
          "AfterEnvironmentStateUpdate", "AfterNEnvironmentStateUpdates", "AtEnvironmentStateUpdateNStart"]
SEQUENCES = ["AtEnvironmentSequence", "AfterEnvironmentSequence", "AfterNEnvironmentSequences", "AtEnvironmentSequenceNStart"]
CALLS = ["BeforeNCalls", "AtNCalls", "AfterCall", "AfterNCalls"]
OTHERS = ["AllHaveRun", "AfterNCallsCombined", "EveryNCalls", "JustRan", "WhenFinished", "WhenFinishedAny", "WhenFinishedAll", "Threshold",
          "TimeInterval", "NWhen"]


def random_leaf(rng, nodes, owner):
    some = rng.sample(nodes, rng.randint(1, min(3, len(nodes))))
    kind = rng.choice(rng.choice([PLAIN, CLOCKS, CLOCKS, SEQUENCES, CALLS, OTHERS, OTHERS, OTHERS, OTHERS]))
    n = {"n": rng.randint(1, 4) if kind.startswith("Every") else rng.randint(0, 4)}
    scales = SCALES[1:] if "ConsiderationSet" in kind else SCALES
    timed = {"time_scale": "TimeScale." + rng.choice(scales)} if rng.random() < .5 else {}
    if kind in PLAIN:
        return C(kind)
    if kind in CLOCKS:
        return C(kind, **n, **timed)
    if kind in SEQUENCES:
        return C(kind, **n)
    if kind in CALLS:
        return C(kind, dependency=some[0], **n, **timed)
    if kind == "AllHaveRun":
        return C(kind, dependencies=some if rng.random() < .8 else [], **timed)
    if kind == "AfterNCallsCombined":
        return C(kind, dependencies=some, **n, **timed)
    if kind == "EveryNCalls":
        return C(kind, dependency=some[0], **n)
    if kind in ("JustRan", "WhenFinished"):
        return C(kind, dependency=some[0])
    if kind.startswith("WhenFinished"):
        return C(kind, dependencies=some if rng.random() < .8 else [])
    if kind == "Threshold":
        close = {rng.choice(["atol", "rtol"]): rng.choice([.25, 1])} if rng.random() < .3 else {}
        return C(kind, dependency=some[0], parameter="n", threshold=n["n"], comparator=rng.choice(["<", "<=", "==", "!=", ">", ">="]), **close)
    if kind == "TimeInterval":
        return C(kind, repeat=rng.randint(1, 4), **({"start": rng.randint(0, 4)} if rng.random() < .4 else {}))
    return C(kind, condition=random_leaf(rng, nodes, owner), **n)


def random_time(rng):
    """A condition of times that need units, fractions and bounds of both kinds."""
    def some():
        return rng.choice([rng.randint(0, 6), f"{rng.randint(1, 9) * 500} us", rng.choice([0.5, 1.5, 2.5])])

    if rng.random() < .3:
        return C("TimeTermination", t=some(), inclusive=rng.random() < .7)
    times = {"repeat": rng.choice([1, 2, 3, "1500 us", 0.5])} if rng.random() < .6 else {}
    if not times or rng.random() < .5:
        times |= {"start": some(), "start_inclusive": rng.random() < .7}
    if rng.random() < .4 and not isinstance(times.get("start"), str):  # graph-scheduler compares both as they are written
        times |= {"end": rng.randint(7, 9), "end_inclusive": rng.random() < .7}
    return C("TimeInterval", **times)


def random_end(rng, nodes):
    """A leaf for a termination, which has no node: neither of these kinds can do without."""
    while True:
        end = random_leaf(rng, nodes, None)
        if not any(kind in json.dumps(end) for kind in ("EveryNCalls", "TimeInterval")):
            return end


def random_condition(rng, nodes, owner):
    if rng.random() < .3:
        return C(rng.choice(["All", "Any", "And", "Or"]), dependencies=[random_leaf(rng, nodes, owner) for _ in range(2)])
    if rng.random() < .15:
        return C("Not", condition=random_leaf(rng, nodes, owner))
    return random_leaf(rng, nodes, owner)


def random_exact_case(rng, name):
    """Another where time is exact, and most conditions are of time."""
    case = random_case(rng, name)
    specific = case["conditions"]["node_specific"]
    for node in case["nodes"]:
        own = specific.get(node, [])
        basic = [x for x in (own if isinstance(own, list) else [own]) if x["type"] not in STRUCTURES]
        if rng.random() < .6:
            basic = [random_time(rng) if rng.random() < .7 else C(rng.choice(["All", "Any"]), dependencies=[random_time(rng), random_leaf(rng, case["nodes"], node)])]
        specific.pop(node, None)
        if basic:
            specific[node] = basic[0]
    if rng.random() < .5:
        case["conditions"]["termination"] = {ESU: C("Any", dependencies=[C("TimeTermination", t=rng.randint(2, 9)), C("AfterNPasses", n=20)])}
    case["conditions"]["metadata"] = {"scheduling_mode": "EXACT_TIME"}
    return case


def random_case(rng, name):
    nodes = "ABCDEFG"[:rng.randint(3, 7)]
    p = rng.choice([.2, .35, .5])
    shuffled = rng.sample(nodes, len(nodes))
    edges = [a + ">" + b for a, b in itertools.combinations(shuffled, 2) if rng.random() < p]
    specific = {}
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        owner = rng.choice(nodes)
        specific.setdefault(owner, []).append(random_structure(rng, nodes, owner))
    for owner in nodes:
        if rng.random() < .35:
            specific.setdefault(owner, []).append(random_condition(rng, nodes, owner))
    specific = {c: v[0] if len(v) == 1 else v for c, v in specific.items()}
    end = rng.choice([C("AfterNPasses", n=rng.randint(1, 4)), C("AfterNPasses", n=3),
                      C("Any", dependencies=[C("AllHaveRun", dependencies=rng.sample(nodes, 2)), C("AfterNPasses", n=5)]),
                      C("Any", dependencies=[random_end(rng, nodes), C("AfterNPasses", n=4)]), C("TimeTermination", t=rng.randint(1, 9))])
    finished = {c: rng.randint(1, 4) for c in nodes if rng.random() < .2}
    return {"name": name, "nodes": nodes, "edges": " ".join(edges),
            "conditions": {"node_specific": specific, "termination": {ESU: end}}, "finished": finished}


def random_cases(seed, n, make=random_case):
    tries = done = n_refused = 0
    while done < n:
        rng = random.Random(f"{seed}/{tries}")
        tries += 1
        case = complete(make(rng, f"random{'_exact' if make is random_exact_case else ''}_{done}"), rng.randint(1, 2), rng)
        if case is None or (case["calls"] is None and n_refused > n // 6):
            continue
        n_refused += case["calls"] is None
        done += 1
        yield case


# --- the engine ----------------------------------------------------------------

def model_of(case):
    nodes, edges = {}, {}
    for c in case["nodes"]:
        nodes[c] = {"input_ports": {}, "parameters": {"n": {"value": "n + 1", "default_initial_value": 0}},
                    "output_ports": {"count": {"value": "n"}}}
        if c in case["finished"]:
            nodes[c]["output_ports"]["is_finished"] = {"value": f"n >= {case['finished'][c]}"}
    for edge in case["edges"].split():
        nodes[edge[2]]["input_ports"]["from_" + edge[0]] = {}
        edges[edge] = {"sender": edge[0], "sender_port": "count", "receiver": edge[2], "receiver_port": "from_" + edge[0]}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, "edges": edges, "conditions": case["conditions"]}}}}


def run_engine(case):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(model_of(case), file)
        file.flush()
        done = subprocess.run([os.path.join(ROOT, "build/mdf-run"), file.name, "--trace", "--quiet", "-n", str(case["n_calls"])],
                              capture_output=True, text=True)
    if done.returncode == 1:
        return None, done.stderr
    steps = json.loads(done.stdout)["trace"]
    return [" ".join("".join(sorted(s)) or "-" for s in step["schedule"]) for step in steps], done.stderr


def compare(n):
    n_wrong = 0
    for case in itertools.chain(random_cases("compare", n), random_cases("compare exact", n, random_exact_case)):
        calls, message = run_engine(case)
        if calls != case["calls"]:
            n_wrong += 1
            print(json.dumps(case), "\n  ", calls, message)
    print(f"{n} cases, and {n} where time is exact: {n_wrong} differ")
    return n_wrong > 0


def main():
    if "--compare" in sys.argv:
        return compare(int(sys.argv[sys.argv.index("--compare") + 1]))
    cases = []
    hand = [(case, {}) for case in by_hand()] + [(case, {"metadata": {"scheduling_mode": "EXACT_TIME"}}) for case in exact_by_hand()]
    for (name, nodes, edges, specific, end, n_calls, finished), mode in hand:
        conditions = {"node_specific": specific, "termination": end, **mode}
        case = {"name": name, "nodes": nodes, "edges": edges, "conditions": conditions, "finished": finished}
        completed = complete(case, n_calls, random.Random(name))
        if completed is None:
            sys.exit(f"{name}: the outcome depends on the order of nodes, or it does not end")
        cases.append(completed)
    cases += random_cases(SEED, N_RANDOM)
    cases += random_cases(SEED + " exact", N_RANDOM_EXACT, random_exact_case)
    with open(os.path.join(ROOT, "tests/data/schedule_cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
    text = json.dumps(cases)
    missing = [kind for kind in PLAIN + CLOCKS + SEQUENCES + CALLS + OTHERS + STRUCTURES if f'"{kind}"' not in text]
    if missing:
        sys.exit("no case has " + " ".join(missing))
    refused = [case["name"] for case in cases if case["calls"] is None]
    print(len(cases), "cases,", len(refused), "refused:", " ".join(refused))
    return 0


if __name__ == "__main__":
    sys.exit(main())
