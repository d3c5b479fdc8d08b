"""Builds the native engine into the wheel: the shared library, the program, and the libraries that they need.

What a checkout has built already (``make demo``) is used as it is; else all processors build it, in one to three minutes; ``pip install -v``
shows how far that is. The wheel then works on a system without a compiler and without these libraries. The C library itself is the system's.

``MDF_C_WHEEL_TARGET=arm64 python3 -m build --wheel python`` makes the wheel for another processor, with the compiler of tools/check_target.sh.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The loader's own, and the C library's: never carried along.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libutil)\.so")

# The program has several names (mdf_c/cli/programs.c); a wheel has no links, so the package calls it by them.
BINARIES = ("libmdf.so", "mdf-run")

# libtiff may need libraries under the GPL: the engine finds the system's where there is one.
LEFT_OUT = ("libtiff",)


class Target(NamedTuple):
    """The machine that the wheel is for.

    Attributes
    ----------
    machine : str
        As `platform.machine` names it there.
    make : tuple of str
        The command that builds for it.
    prefix : str
        Of the names of its compiler's tools: ``"aarch64-linux-gnu-"``.
    folders : tuple of Path
        Where its libraries lie; empty: this machine's loader knows.
    root : Path, optional
        Where they, and what belongs to them, are unpacked; None: on this machine.
    """

    machine: str
    make: tuple[str, ...] = ("make", f"-j{os.cpu_count() or 1}")
    prefix: str = ""
    folders: tuple[Path, ...] = ()
    root: Path | None = None

    def find_library(self, name: str) -> Path | None:
        """Where the loader finds a library; None where it does not."""
        if self.folders:
            return next((folder / name for folder in self.folders if (folder / name).exists()), None)
        environment = {**os.environ, "PATH": os.environ["PATH"] + ":/sbin"}
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env=environment).stdout
        found = re.findall(rf"^\s*{re.escape(name)} \((.*)\) => (/\S+)", listed, re.MULTILINE)
        wanted = "x86-64" if self.machine == "x86_64" else "AArch64" if self.machine == "aarch64" else ""
        return next((Path(path) for kind, path in found if wanted in kind), None)

    def needed_libraries(self, binary: Path) -> dict[str, Path]:
        """The libraries outside the system's base that a binary needs, directly or not, by the name that it needs them under."""
        needed: dict[str, Path] = {}
        waiting = [binary]
        while waiting:
            listed = subprocess.run(["readelf", "-d", str(waiting.pop())], check=True, capture_output=True, text=True).stdout
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listed):
                if SYSTEM_LIBRARIES.match(name) or name in needed:
                    continue
                path = self.find_library(name)
                if path is None:
                    raise RuntimeError(f"{binary.name} needs the library {name}, which is not there")
                needed[name] = path
                waiting.append(path)
        return needed

    def late_libraries(self, build: Path) -> dict[str, Path]:
        """Libraries that the engine loads by name when it first needs them (mdf_c/base/late_library.h)."""
        names = re.findall(r'"(.+)"', (build / "generated" / "late_libraries.h").read_text())
        found = {name: self.find_library(name) for name in names if not name.startswith(LEFT_OUT)}
        return {name: path for name, path in found.items() if path is not None}

    def platform_tag(self, folder: Path) -> str:
        """The oldest systems that the binaries run on, as manylinux has it: by the newest version of the C library's symbols."""
        newest = (2, 17)
        for binary in filter(Path.is_file, folder.iterdir()):
            symbols = subprocess.run(["readelf", "-V", "-W", str(binary)], check=True, capture_output=True, text=True).stdout
            newest = max([newest, *((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))])
        return f"manylinux_{newest[0]}_{newest[1]}_{self.machine}"


def find_target(source: Path, name: str | None) -> Target:
    """The target of that name of tools/check_target.sh, which unpacks its libraries; None: this machine."""
    if name is None:
        return Target(platform.machine())
    machine, triplet = {"arm64": ("aarch64", "aarch64-linux-gnu"), "armhf": ("armv7l", "arm-linux-gnueabihf")}[name]
    root = source / "build" / name / "sysroot"
    command = (str(source / "tools" / "check_target.sh"), "--make", name)
    return Target(machine, command, f"{triplet}-", (root / "usr/lib" / triplet, root / "lib" / triplet), root)


def package_of(library: Path, target: Target) -> str | None:
    """The package of the system that a library belongs to; None where that is not known."""
    if target.root is not None:
        path = "./" + str(library.resolve().relative_to(target.root.resolve()))
        lines = (target.root / "owners").read_text().splitlines()
        return next((line.split(" ", 1)[0] for line in lines if line.split(" ", 1)[1] == path), None)
    if not shutil.which("dpkg-query"):
        return None
    # Packages list a path as it was before /lib became a part of /usr.
    for path in (str(library), str(library.resolve()), str(library.resolve()).removeprefix("/usr")):
        listed = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True).stdout
        if listed:
            return listed.partition(":")[0]
    return None


def copy_licence(name: str, library: Path, folder: Path, target: Target) -> None:
    """Puts what the system says of a library's authors and licence beside it; systems without dpkg have no such text."""
    text = Path(target.root or "/", "usr/share/doc", package_of(library, target) or "", "copyright")
    if text.is_file():
        shutil.copy(text, folder / f"{name}.txt")


def carry_along(folder: Path, late: dict[str, Path], target: Target) -> None:
    """Copies what the binaries need into their folder, under names that no other package's library has; their licences too.

    Late libraries keep their names, by which the engine asks for them.
    """
    for name, path in late.items():
        shutil.copy(path, folder / name)
    named = (*BINARIES, *late)
    needed = {name: path for binary in named for name, path in target.needed_libraries(folder / binary).items() if name not in late}
    for name, path in needed.items():
        shutil.copy(path, folder / f"mdf_c-{name}")
    licences = folder / "licences"
    licences.mkdir()
    for name, path in (late | needed).items():
        copy_licence(name, path, licences, target)
    renamed = [part for name in needed for part in ("--replace-needed", name, f"mdf_c-{name}")]
    for binary in (*named, *(f"mdf_c-{name}" for name in needed)):
        soname = ["--set-soname", binary] if ".so" in binary else []
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", *renamed, *soname, str(folder / binary)], check=True)


class NativeBuildHook(BuildHookInterface):
    """Runs make, and puts what it made into ``mdf_c/native``."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Called before the wheel is put together."""
        root = Path(self.root)
        source = root / "source" if (root / "source").exists() else root.parent
        name = os.environ.get("MDF_C_WHEEL_TARGET")
        target = find_target(source, name)
        build = Path(os.environ.get("MDF_C_WHEEL_BUILD", source / "build" / (name or "")))
        self.app.display_info(f"mdf_c: building the engine in {build}, by {os.cpu_count() or 1} jobs")
        # Of another processor, tools/check_target.sh adds to CFLAGS where its headers lie.
        environment = {**os.environ, "CFLAGS": "-O2 -g1"} if name else None
        if subprocess.run([*target.make, "all", f"BUILD={build}"], cwd=source, env=environment).returncode:
            raise RuntimeError("the engine can not be built: 'make deps', in the folder above this one, installs what it needs")
        staged = build / "wheel" / "native"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        for binary in BINARIES:
            subprocess.run([f"{target.prefix}strip", "-o", str(staged / binary), str(build / binary)], check=True)
        carry_along(staged, target.late_libraries(build), target)
        build_data["force_include"][str(staged)] = "mdf_c/native"
        build_data["force_include"][str(source / "LICENSE")] = "mdf_c/LICENSE"
        build_data["tag"] = f"py3-none-{target.platform_tag(staged)}"
        build_data["pure_python"] = False
