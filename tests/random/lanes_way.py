"""Instances side by side in generated C (mdf-compile --lanes) against states by themselves, each with inputs and a seed of its own: drivers/lanes_driver.c."""
import json
import math
import os
import subprocess
import tempfile

import case as cases
import runner

HERE = os.path.dirname(os.path.abspath(__file__))
LANES = 4


def findings(case, build):
    """Empty too where the model has no form in C, or can not have lanes."""
    with tempfile.TemporaryDirectory(prefix="mdf_lanes_") as folder:
        model = os.path.join(folder, "model." + ("onnx" if case["format"] == "onnx" else "json"))
        with open(model, "wb") as file:
            file.write(cases.model_bytes(case))
        dt = case.get("dt")
        has_dt = dt is not None and math.isfinite(dt)
        command = [os.path.join(runner.ROOT, build, "mdf-compile"), model, "--name", "model", "--lanes", str(LANES), "-o", "model.h"]
        given = case["phases"][0]["inputs"]
        with open(os.path.join(folder, "inputs.json"), "w") as file:
            json.dump(given, file)
        command += ["--inputs", "inputs.json"] * bool(given) + ["--dt", str(dt)] * has_dt + ["--method", case.get("method", "euler")]
        if subprocess.run(command, cwd=folder, capture_output=True).returncode:
            return []
        build_it = ["cc", "-std=c11", "-O1", "-ffp-contract=off", "-I.", "-I" + runner.ROOT, os.path.join(HERE, "drivers", "lanes_driver.c"), "-o", "driver", "-lm"]
        for what, arguments in (("cc", build_it), ("run", ["./driver", "5", str(dt) if has_dt else "nan"])):
            done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode:
                return [{"way": "compiled_lanes", "kind": "different" if done.returncode == 1 else "crash", "detail": [what, (done.stdout + done.stderr)[:500], ""]}]
    return []

