"""What a LocalCluster of dask costs beside threads: processor time of all processes, and the same bits, one worker being killed.

usage: cluster.py MODEL [INSTANCES [STEPS]]       of examples/fitzhugh_nagumo.yaml; needs distributed and the package
"""

import os
import resource
import signal
import sys

import distributed
import numpy as np

import mdf_c


def used() -> float:
    """Processor time of this process and of those that have ended, in seconds."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def sweep(model: str, n: int, steps: int, **options):
    values = {"membrane.a": np.linspace(0.5, 0.9, n // 1000), "membrane.current": np.linspace(0, 0.8, 1000)}
    return mdf_c.sweep(model, values, steps=steps, dt=0.05, record=["V", "W"], **options)


def on_cluster(model: str, n: int, steps: int, kills: bool):
    """The result, and the processor time less that of a cluster that does nothing."""
    times = []
    for size in (1000, n):
        begin = used()
        killed: list[int] = []
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:

                def kill(_done: int, client=client, killed=killed) -> None:
                    if kills and not killed:
                        killed.append(client.submit(os.getpid, pure=False).result())
                        os.kill(killed[0], signal.SIGKILL)

                result = sweep(model, size, steps, client=client, progress=kill if size == n else False)
        times.append(used() - begin)
        assert bool(killed) == (kills and size == n)
    return result, times[1] - times[0]


def main() -> None:
    model, *numbers = sys.argv[1:]
    n, steps = (int(number) for number in [*numbers, *["1000000", "200"][len(numbers) :]])
    begin = used()
    here = sweep(model, n, steps, threads=2, progress=False)
    alone = used() - begin
    print(f"threads: {alone:.2f} s of processors")
    for kills in (False, True):
        there, seconds = on_cluster(model, n, steps, kills)
        same = all(there[name].tobytes() == here[name].tobytes() for name in ("V", "W"))
        what = "LocalCluster, a worker killed" if kills else "LocalCluster"
        print(f"{what}: {seconds:.2f} s, {100 * (seconds / alone - 1):+.1f} %, the same bits: {same}")


if __name__ == "__main__":
    main()
