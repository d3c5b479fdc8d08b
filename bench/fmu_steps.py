"""Size of FMUs, and the time of one fmi2DoStep that is one step of the model, with nothing set or read between: for docs/fmu.md.

    python3 bench/fmu_steps.py [MODEL...]

Default: all examples, and the models of the tests; those that have no form in C are told behind the table.
"""

import itertools
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BUILD = Path(os.environ.get("BUILD", "build")).resolve()
EXAMPLES = sorted(itertools.chain(*(Path("examples").glob(pattern) for pattern in ("*.yaml", "*.json", "control_flow/*.yaml", "control_flow/*.json"))))
MODELS = [str(path) for path in EXAMPLES] + ["tests/data/fmu/tank.yaml", "tests/data/fmu/pid.yaml"]
DT, STEPS, ROUNDS = 0.01, 50_000, 5

DRIVER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct callbacks {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *finished, *environment;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    struct callbacks callbacks = {NULL, calloc, free, NULL, NULL};
    double dt = atof(argv[3]), best = 1e300;
    long n = atol(argv[4]), rounds = atol(argv[5]), i;
    void *(*instantiate)(const char *, int, const char *, const char *, struct callbacks *, int, int) = dlsym(library, "fmi2Instantiate");
    int (*set_up)(void *, int, double, double, int, double) = dlsym(library, "fmi2SetupExperiment");
    int (*enter)(void *) = dlsym(library, "fmi2EnterInitializationMode"), (*leave)(void *) = dlsym(library, "fmi2ExitInitializationMode");
    int (*reset)(void *) = dlsym(library, "fmi2Reset"), (*step)(void *, double, double, int) = dlsym(library, "fmi2DoStep");
    void *instance = instantiate("bench", 1, argv[2], "", &callbacks, 0, 0);

    while (instance != NULL && rounds-- > 0) {
        double start;

        reset(instance);
        set_up(instance, 0, 0, 0, 0, 0);
        enter(instance);
        leave(instance);
        start = now();
        for (i = 0; i < n && step(instance, i * dt, dt, 1) == 0; i++) {
        }
        start = (now() - start) / n;
        best = start < best ? start : best;
    }
    printf("%.1f\n", best);
    return instance == NULL || i < n || argc != 6;
}
"""


def main(models):
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder, "driver")
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", driver, "-ldl"], input=DRIVER, text=True, check=True)
        print("| model | FMU 2.0, KB | FMU 3.0, KB | library, KB | ns a step |\n|---|---|---|---|---|")
        refused = []
        for model in models:
            sizes = []
            for version in ("3", "2"):
                fmu = Path(folder, "model.fmu")
                made = subprocess.run([BUILD / "mdf-fmu", model, "--dt", str(DT), "--fmi", version, "-o", fmu], capture_output=True, check=False)
                if made.returncode != 0:
                    break
                sizes.insert(0, fmu.stat().st_size / 1000)
            if made.returncode != 0:
                refused.append(Path(model).name)
                continue
            with zipfile.ZipFile(fmu) as archive:
                name = next(name for name in archive.namelist() if name.endswith(".so"))
                library = archive.extract(name, folder)
                token = re.search(r'guid="([^"]*)', archive.read("modelDescription.xml").decode()).group(1)
            told = subprocess.run(
                [driver, library, token, str(DT), str(STEPS), str(ROUNDS)], capture_output=True, text=True, check=False
            ).stdout
            print(f"| {Path(model).name} | {sizes[0]:.0f} | {sizes[1]:.0f} | {os.stat(library).st_size / 1000:.0f} | {told.strip()} |", flush=True)
        print("\nNo form in C: " + ", ".join(refused))


if __name__ == "__main__":
    main(sys.argv[1:] or MODELS)
