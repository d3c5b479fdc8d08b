"""Whether results of two ways agree."""

import numpy as np

TOLERANCE = 1e-9  # exponentials and sums of PsyNeuLink's are in another order


def rows(results):
    """Results of all trials, port by port."""
    return [[np.ravel(port).astype(float) for port in trial] for trial in results]


def agree(got, want):
    if np.shape(got) != np.shape(want):
        return f"results have the shape {np.shape(got)}, not {np.shape(want)}"
    for trial, (own, other) in enumerate(zip(rows(got), rows(want))):
        for a, b in zip(own, other):
            if not np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE):
                return f"trial {trial + 1}: {a} is not {b}"
    return None
