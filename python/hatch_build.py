"""Builds the native engine into the wheel: the shared library, mdf-run, and the libraries that they need.

The wheel then works on a system without a compiler and without these libraries. The C library itself is the system's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BINARIES = ("libmdf.so", "mdf-run")
# The loader's own, and the C library's: never carried along.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libutil)\.so")


def needed_libraries(binary: Path) -> dict[str, Path]:
    """The libraries outside the system's base that a binary needs, directly or not, by the name that it needs them under."""
    listed = subprocess.run(["ldd", str(binary)], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE)
    return {name: Path(path) for name, path in found if not SYSTEM_LIBRARIES.match(name)}


def carry_along(folder: Path, names: tuple[str, ...]) -> None:
    """Copies what the named binaries need into their folder, under names that no other package's library has."""
    needed = {name: path for binary in names for name, path in needed_libraries(folder / binary).items()}
    for name, path in needed.items():
        shutil.copy(path, folder / f"mdf_c-{name}")
    renamed = [part for name in needed for part in ("--replace-needed", name, f"mdf_c-{name}")]
    for binary in (*names, *(f"mdf_c-{name}" for name in needed)):
        soname = ["--set-soname", binary] if ".so" in binary else []
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", *renamed, *soname, str(folder / binary)], check=True)


class NativeBuildHook(BuildHookInterface):
    """Runs make, and puts what it made into ``mdf_c/native``."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Called before the wheel is put together."""
        root = Path(self.root)
        source = root / "source" if (root / "source").exists() else root.parent
        build = Path(os.environ.get("MDF_C_WHEEL_BUILD", source / "build" / "wheel"))
        command = ["make", "-C", str(source), f"-j{os.cpu_count() or 1}", "all", f"BUILD={build}", "LDFLAGS=-s"]
        subprocess.run(command, check=True)
        staged = build / "native"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        for name in BINARIES:
            shutil.copy(build / name, staged / name)
        carry_along(staged, BINARIES)
        build_data["force_include"][str(staged)] = "mdf_c/native"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
