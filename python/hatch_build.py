"""Builds the native engine into the wheel: the shared library, the programs, and the libraries that they need.

What a checkout has built already (``make demo``) is used as it is; else all processors build it, in one to three minutes; ``pip install -v``
shows how far that is. The wheel then works on a system without a compiler and without these libraries. The C library itself is the system's.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAMS = ("mdf-run", "mdf-convert", "mdf-compile", "mdf-merge")
BINARIES = ("libmdf.so", *PROGRAMS)
# The loader's own, and the C library's: never carried along.
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libutil)\.so")

# libtiff may need libraries under the GPL: the engine finds the system's where there is one.
LEFT_OUT = ("libtiff",)


def needed_libraries(binary: Path) -> dict[str, Path]:
    """The libraries outside the system's base that a binary needs, directly or not, by the name that it needs them under."""
    listed = subprocess.run(["ldd", str(binary)], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE)
    return {name: Path(path) for name, path in found if not SYSTEM_LIBRARIES.match(name)}


def find_library(name: str) -> Path | None:
    """Where the loader finds a library; None where it does not."""
    listed = subprocess.run(
        ["ldconfig", "-p"], capture_output=True, text=True, env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin"}
    )
    found = re.findall(rf"^\s*{re.escape(name)} \(.*\) => (/\S+)", listed.stdout, re.MULTILINE)
    return Path(found[0]) if found else None


def late_libraries(source: Path) -> dict[str, Path]:
    """Libraries that the engine loads by name when it first needs them (mdf_c/base/late_library.h)."""
    names = re.findall(r'"(.+)"', (source / "build" / "generated" / "late_libraries.h").read_text())
    found = {name: find_library(name) for name in names if not name.startswith(LEFT_OUT)}
    return {name: path for name, path in found.items() if path is not None}


def copy_licence(library: Path, folder: Path) -> None:
    """Puts what the system says of a library's authors and licence beside it; systems without dpkg have no such text."""
    if not shutil.which("dpkg-query"):
        return
    # Packages list a path as it was before /lib became a part of /usr.
    for path in (library, library.resolve(), Path(str(library.resolve()).removeprefix("/usr"))):
        found = subprocess.run(["dpkg-query", "--search", str(path)], capture_output=True, text=True).stdout
        text = Path("/usr/share/doc", found.partition(":")[0], "copyright")
        if found and text.is_file():
            shutil.copy(text, folder / f"{library.name}.txt")
            return


def carry_along(folder: Path, late: dict[str, Path]) -> None:
    """Copies what the binaries need into their folder, under names that no other package's library has; their licences too.

    Late libraries keep their names, by which the engine asks for them.
    """
    for name, path in late.items():
        shutil.copy(path, folder / name)
    named = (*BINARIES, *late)
    needed = {name: path for binary in named for name, path in needed_libraries(folder / binary).items() if name not in late}
    for name, path in needed.items():
        shutil.copy(path, folder / f"mdf_c-{name}")
    licences = folder / "licences"
    licences.mkdir()
    for path in (*late.values(), *needed.values()):
        copy_licence(path, licences)
    renamed = [part for name in needed for part in ("--replace-needed", name, f"mdf_c-{name}")]
    for binary in (*named, *(f"mdf_c-{name}" for name in needed)):
        soname = ["--set-soname", binary] if ".so" in binary else []
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", *renamed, *soname, str(folder / binary)], check=True)


def platform_tag(folder: Path) -> str:
    """The oldest systems that the binaries run on, as manylinux has it: by the newest version of the C library's symbols."""
    newest = (2, 17)
    for binary in filter(Path.is_file, folder.iterdir()):
        symbols = subprocess.run(["objdump", "-T", str(binary)], check=True, capture_output=True, text=True).stdout
        newest = max([newest, *((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))])
    return f"manylinux_{newest[0]}_{newest[1]}_{platform.machine()}"


class NativeBuildHook(BuildHookInterface):
    """Runs make, and puts what it made into ``mdf_c/native``."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Called before the wheel is put together."""
        root = Path(self.root)
        source = root / "source" if (root / "source").exists() else root.parent
        build = Path(os.environ.get("MDF_C_WHEEL_BUILD", source / "build"))
        self.app.display_info(f"mdf_c: building the engine in {build}, by {os.cpu_count() or 1} jobs")
        command = ["make", "-C", str(source), f"-j{os.cpu_count() or 1}", "all", f"BUILD={build}"]
        if subprocess.run(command).returncode:
            raise RuntimeError("the engine can not be built: 'make deps', in the folder above this one, installs what it needs")
        staged = build / "wheel" / "native"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        for name in BINARIES:
            subprocess.run(["strip", "-o", str(staged / name), str(build / name)], check=True)
        carry_along(staged, late_libraries(source))
        build_data["force_include"][str(staged)] = "mdf_c/native"
        build_data["force_include"][str(source / "LICENSE")] = "mdf_c/LICENSE"
        build_data["tag"] = f"py3-none-{platform_tag(staged)}"
        build_data["pure_python"] = False
