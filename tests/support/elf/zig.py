"""Zig of the package index, whose clang compiles for every architecture and whose linker links for it."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from fastinstall.compilers.clang import COMPILER
from fastinstall.core.architecture import architecture_of
from fastinstall.core.events import ignore
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip_indexes import pip_settings

_VERSION = "0.17.1"


def find_zig(cache: Path) -> Path:
    """Return the program, out of its wheel, in a cache of fastinstall."""
    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=30.0)
    platform = architecture_of(os.uname().machine).wheel_platform
    offered = ask_indexes(
        settings,
        (COMPILER.distribution,),
        lambda name: f"-{_VERSION}-" in name and "manylinux_" in name and f"_{platform}." in name,
    )
    wheel = PackageIndex(settings=settings).fetch(offered[0], cache, ignore)
    return COMPILER.prepare(wheel, cache, ignore).parent / "ziglang" / "zig"
