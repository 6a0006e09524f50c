"""A PIL with one copy of its core per CPU level, behind a stub; the copies are a few lines of C, or Pillow's core.

It stands in for a wheel with several levels, and needs no build of Pillow. Its files, their paths and their linking are
those of such a wheel, so loader and interpreter treat both in the same way.
"""

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.elf.jpeg_libraries import patchelf
from support.environments.site_packages import rerecord
from support.machine.needs import require_system

CODE = "lib_imaging_core-0123abcd.so"
KERNEL = "ImagingFilter3x3f_4u8"
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
BASELINE, BETTER = "x86-64-v2", "x86-64-v3"
LOADER = Path("/lib64/ld-linux-x86-64.so.2")
LOADER_REFUSAL = "CPU ISA level is lower than required"
"""glibc's message for a file that declares a higher level than the CPU's."""

_CORE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_imaging", 0, -1, 0};
PyMODINIT_FUNC PyInit__imaging(void) { return PyModule_Create(&module); }
"""
_FUNCTIONS = "\n".join(f"int scale_{n}(int a, int b) {{ return (a + {n}) * b; }}" for n in range(12))


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A site-packages directory with such a PIL.

    Attributes:
        site: the directory.
    """

    site: Path

    @property
    def stub(self) -> Path:
        """The file that Python imports as `PIL._imaging`."""
        return self.site / f"PIL/_imaging{SUFFIX}"

    def copy(self, level: str = BASELINE) -> Path:
        """Return the path of the copy for a level; the baseline's copy is in the parent of the level directories."""
        place = "pillow.libs" if level == BASELINE else f"pillow.libs/glibc-hwcaps/{level}"
        return self.site / place / CODE


def small_tree(site: Path) -> Tree:
    """Create a PIL that can only be imported, with two copies that declare their levels."""
    tree = Tree(site=site)
    (site / "PIL").mkdir(parents=True)
    (site / "PIL/__init__.py").write_text("__version__ = '13.0.0'\n")
    (site / "PIL/Image.py").write_text("from . import _imaging\n")
    compile_copy(tree, BASELINE)
    compile_copy(tree, BETTER)
    link_stub(tree)
    return tree


def compile_copy(
    tree: Tree, level: str, *, flags: Sequence[str | Path] = ("-O2",), kernels: bool = True, note: str = ""
) -> Path:
    """Compile the copy for a level; with `note`, the copy declares that level instead of its own."""
    path = tree.copy(level)
    path.parent.mkdir(parents=True, exist_ok=True)
    kernel = f"int {KERNEL}(int a) {{ return a; }}\n" if kernels else ""
    origin = "$ORIGIN" if level == BASELINE else "$ORIGIN/../.."
    include = sysconfig.get_paths()["include"]
    usual = (f"-march={level}", "-fPIC", "-shared", f"-I{include}", f"-Wl,-z,{note or level}")
    search = ("-Wl,--disable-new-dtags", f"-Wl,-rpath,{origin}", f"-Wl,-soname,{CODE}")
    _gcc(*usual, *search, *flags, "-o", path, source=_CORE + kernel + _FUNCTIONS)
    return path


def link_stub(tree: Tree) -> None:
    """Link an empty module that loads the copies."""
    search = ("-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/../pillow.libs")
    wanted = ("-Wl,--no-as-needed", f"-L{tree.copy().parent}", f"-l:{CODE}", "-Wl,--allow-shlib-undefined")
    _gcc("-shared", "-nostdlib", "-s", *search, *wanted, "-o", tree.stub)


def split_core(site: Path, metadata: str) -> Tree:
    """Split an installed Pillow: two copies of its core behind a stub, with a matching RECORD."""
    tree = Tree(site=site)
    for level, origin in ((BASELINE, "$ORIGIN"), (BETTER, "$ORIGIN/../..")):
        copy = tree.copy(level)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree.stub, copy)
        options = ("--set-soname", CODE, "--force-rpath", "--set-rpath", origin)
        patchelf(*options, copy)
    tree.stub.unlink()
    link_stub(tree)
    for changed in (tree.stub, tree.copy(), tree.copy(BETTER)):
        rerecord(site / metadata, changed)
    return tree


def python_on(cpu: str, directory: Path) -> Path:
    """Return a program that runs this interpreter on an emulated CPU."""
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    script = directory / f"python-on-{cpu}"
    script.write_text(f'#!/bin/sh\nexec {emulator} -cpu {cpu} {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def loader_help_on(cpu: str) -> str:
    """Return the output of the loader's `--help` on an emulated CPU."""
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    argv = (emulator or "", "-cpu", cpu, LOADER, "--help")
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout


def _gcc(*words: str | Path, source: str = "") -> None:
    argv = ("gcc", "-x", "c", "-", "-x", "none", *words)
    done = subprocess.run(argv, input=source + "\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
