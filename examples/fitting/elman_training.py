"""Trains the Elman network of elman_model.yaml with PyTorch's Adam: the model and its gradient are the engine's, the training is PyTorch's.

python3 examples/fitting/elman_training.py [STEPS]
"""

import sys
from pathlib import Path

import numpy as np
import torch

import mdf_c

SHAPES = {"net.W": (8,), "net.R": (8, 8), "net.b": (8,), "net.V": (8,), "net.c": ()}


def train(steps: int) -> tuple[float, float]:
    """The last loss, and the share of places that the trained network tells rightly."""
    folder = Path(__file__).resolve().parent
    bit, changed = np.loadtxt(folder / "sequence.csv", delimiter=",", skiprows=1).T
    inputs = {"sequence": bit, "target": changed}
    loss = mdf_c.to_torch(mdf_c.gradient(folder / "elman_model.yaml", "net.loss", list(SHAPES)))
    drawn = np.random.default_rng(1)
    weights = {name: torch.tensor(drawn.normal(0, 0.5, shape), requires_grad=True) for name, shape in SHAPES.items()}
    optimizer = torch.optim.Adam(weights.values(), lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        value = loss(weights, inputs)
        value.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {value.item():.6f}")
    trained = {name: tensor.detach().numpy() for name, tensor in weights.items()}
    told = mdf_c.run(folder / "elman_model.yaml", inputs, parameters=trained)
    return float(told["loss"]), float(np.mean((told["probability"] > 0.5) == (changed > 0)))


if __name__ == "__main__":
    print("loss %.6f, right %.3f" % train(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
