"""What a LocalCluster of dask costs beside threads: processor time of all processes, and the same bits, one worker being killed.

usage: cluster.py MODEL [INSTANCES [STEPS [ROUNDS]]]       of examples/fitzhugh_nagumo.yaml; needs distributed and the package

Each figure is the least of all rounds, in which all take turns. What a cluster costs that does (almost) nothing is told by itself
and left out of the others: it is the same whatever there is to do, as is a new process in the place of the one that is killed."""

import contextlib
import os
import resource
import signal
import sys

import distributed
import numpy as np

import mdf_c

FEW = 1000


def used() -> float:
    """Processor time of this process and of those that have ended, in seconds."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def sweep(model: str, n: int, steps: int, **options):
    values = {"membrane.a": np.linspace(0.5, 0.9, n // 1000), "membrane.current": np.linspace(0, 0.8, 1000)}
    return mdf_c.sweep(model, values, steps=steps, dt=0.05, record=["V", "W"], **options)


def on_cluster(model: str, n: int, steps: int, kills: bool):
    """The result, and the processor time of a cluster, from its start to its end."""
    killed: list[int] = []
    begin = used()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:

            def kill(_done: int) -> None:
                if kills and not killed:
                    killed.append(client.submit(os.getpid, pure=False).result())
                    os.kill(killed[0], signal.SIGKILL)

            result = sweep(model, n, steps, client=client, progress=kill)
            if kills:
                with contextlib.suppress(TimeoutError):  # a busy machine may not get it up
                    client.wait_for_workers(2, timeout=60)
    assert bool(killed) == kills
    return result, used() - begin


def main() -> None:
    model, *numbers = sys.argv[1:]
    n, steps, rounds = (int(number) for number in [*numbers, *["1000000", "20000", "2"][len(numbers) :]])
    best: dict[str, float] = {}
    same = True
    for _ in range(rounds):
        begin = used()
        here = sweep(model, n, steps, threads=2, progress=False)
        best["threads"] = min(best.get("threads", np.inf), used() - begin)
        for kills in (False, True):
            for size in (FEW, n):
                there, seconds = on_cluster(model, size, steps if size > FEW else 1, kills)
                what = f"{'a worker killed' if kills else 'all workers'}{'' if size > FEW else ', nothing to do'}"
                best[what] = min(best.get(what, np.inf), seconds)
            same = same and all(there[name].tobytes() == here[name].tobytes() for name in ("V", "W"))
    print(f"{n:,} instances of {steps:,} steps, two threads: {best['threads']:.2f} s of processors")
    for what in ("all workers", "a worker killed"):
        idle = best[what + ", nothing to do"]
        seconds = best[what] - idle
        print(f"LocalCluster, {what}: {seconds:.2f} s, {100 * (seconds / best['threads'] - 1):+.1f} %, and {idle:.2f} s with nothing to do")
    print(f"the same bits: {same}")


if __name__ == "__main__":
    main()
