"""Random scheduling conditions: docs/scheduling.md has what they mean."""
SCALES = ["PASS", "ENVIRONMENT_STATE_UPDATE", "ENVIRONMENT_SEQUENCE", "LIFE"]
STRUCTURES = ["BeforeNode", "WithNode", "AfterNode", "AddEdgeTo", "RemoveEdgeFrom"]


def _c(kind, **kwargs):
    return {"type": kind, "kwargs": kwargs}


def one(rng, nodes, depth=0, terminates=False):
    node = rng.choice(list(nodes))
    n = rng.choice([0, 1, 1, 2, 2, 3])
    scale = {"time_scale": f"TimeScale.{rng.choice(SCALES)}"} if rng.random() < 0.3 else {}
    kind = rng.randrange(16 if depth < 2 else 12)
    if kind == 0:
        return _c(rng.choice(["Always", "Never", "AtEnvironmentStateUpdateStart", "AtEnvironmentSequenceStart"]))
    if kind in (1, 2):
        return _c(rng.choice(["EveryNPasses", "AtPass", "AfterPass", "BeforePass", "AfterNPasses"]), n=max(1, n), **scale)
    if kind in (3, 4, 5) and not terminates:
        return _c("EveryNCalls", dependency=node, n=max(1, n))
    if kind in (3, 4, 5, 6):
        return _c(rng.choice(["AfterNCalls", "AtNCalls", "BeforeNCalls", "AfterCall"]), dependency=node, n=n, **scale)
    if kind == 7:
        return _c("AfterNCallsCombined", dependencies=rng.sample(list(nodes), rng.randint(1, len(nodes))), n=n, **scale)
    if kind == 8:
        return _c(rng.choice(["JustRan", "WhenFinished"]), dependency=node)
    if kind == 9:
        return _c(rng.choice(["AllHaveRun", "WhenFinishedAny", "WhenFinishedAll"]), dependencies=rng.sample(list(nodes), rng.randint(1, len(nodes))))
    if kind == 10:
        return _threshold(rng, nodes, node)
    if kind == 11:
        return rng.choice([_c(rng.choice(["BeforeEnvironmentStateUpdate", "AtEnvironmentStateUpdate", "AfterEnvironmentStateUpdate",
                                          "AfterNEnvironmentStateUpdates", "AtEnvironmentStateUpdateNStart"]), n=n),
                           _c(rng.choice(["AfterConsiderationSetExecution", "BeforeConsiderationSetExecution", "AtConsiderationSetExecution"]), n=n)])
    if kind in (12, 13):
        return _c(rng.choice(["All", "Any", "And", "Or"]), dependencies=[one(rng, nodes, depth + 1, terminates) for _ in range(rng.choice([1, 2, 2, 3]))])
    if kind == 14:
        return _c("Not", condition=one(rng, nodes, depth + 1, terminates))
    return rng.choice([_c("NWhen", condition=one(rng, nodes, depth + 1, terminates), n=max(1, n)), _c("TimeInterval", repeat=rng.choice([1, 2, 3])),
                       _c("TimeInterval", start=rng.choice([0, 1, 2]), end=rng.choice([3, 5])), _c("TimeTermination", t=rng.choice([1, 2, 4]))])


def _threshold(rng, nodes, node):
    parts = [name for kind in ("output_ports", "parameters", "input_ports") for name in nodes[node].get(kind) or {}]
    return _c("Threshold", dependency=node, parameter=rng.choice(parts), threshold=rng.choice([0, 0.5, 1, -1, 2]), comparator=rng.choice(["<", "<=", ">", ">=", "==", "!="]))


def make(rng, nodes):
    """The conditions of a graph. Most have an end that comes soon, as waiting for one that never comes is an error."""
    made = {}
    for node in nodes:
        if rng.random() < 0.6:
            made[node] = one(rng, nodes)
            if rng.random() < 0.06 and len(nodes) > 1:
                made[node] = [_c(rng.choice(STRUCTURES), node=rng.choice([x for x in nodes if x != node])), made[node]]
    out = {"node_specific": made}
    if rng.random() < 0.15:
        out["metadata"] = {"scheduling_mode": "EXACT_TIME"}
    if rng.random() < 0.75:
        end = _c("AfterNPasses", n=rng.choice([1, 2, 3, 4]))
        r = rng.random()
        out["termination"] = {"environment_state_update": end if r < 0.6 else _c("Any", dependencies=[one(rng, nodes, 1, True), end]) if r < 0.85 else one(rng, nodes, 0, True)}
    return out
