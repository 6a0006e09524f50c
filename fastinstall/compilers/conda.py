"""A compiler and headers from conda packages, installed into fastinstall's cache, apart from users' environments.

This module chooses the packages; `fastinstall.setup.steps.prepare` installs them.
"""

from collections.abc import Mapping
from itertools import pairwise

from fastinstall.compilers.compiler import CompilerSource, PrivatePackages
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request, ToolchainSource

PACKAGE = "c-compiler"
"""conda-forge's metapackage for its C compiler."""

PROGRAMS = ("*-linux-gnu-cc", "*-linux-gnu-gcc", "cc", "gcc", "clang")
"""Patterns of the compiler's file name in a prefix, the preferred one first."""

_CHANNEL = "conda-forge"


class CondaCompiler(CompilerSource):
    """A compiler from conda packages; it can be installed only with py-rattler and a reachable channel."""

    word = ToolchainSource.CONDA
    choice = "a compiler of conda packages in the cache; needs no root"
    brings_headers = True

    def choose_packages(
        self,
        facts: Facts,
        request: Request,
        tools: tuple[str, ...],
        libraries: Mapping[str, tuple[str, ...]],
        channels: tuple[str, ...],
        /,
    ) -> PrivatePackages | None:
        """Return packages for missing tools and headers, or None if none are missing or this source cannot be used.

        If the request does not name this source, it is used only if py-rattler is installed and the run is not offline.

        Raises:
            RefusedError: this source was requested, but py-rattler is not installed.
        """
        asked = request.toolchain is self.word
        engine = facts.toolchain is not None and facts.toolchain.rattler
        if not tools and not libraries:
            return None
        if asked and not engine:
            raise RefusedError(
                f"--toolchain {self.word}: py-rattler is not installed beside fastinstall",
                hint=make_extra_command(facts),
            )
        if not asked and (not engine or request.offline):
            return None
        absent = listing([*tools, *(f"the headers of {name}" for name in libraries)])
        why = f"requested by --toolchain {self.word}" if asked else f"missing: {absent}"
        python = facts.interpreter
        build = f" *_{python.abi}" if python.free_threaded else ""  # conda-forge's build strings end with the ABI
        specs = {"compiler": PACKAGE, "Python.h": f"python {python.minor}.*{build}"}
        of_libraries = (package for packages in libraries.values() for package in packages)
        return PrivatePackages(
            channels=request.channels or channels or (_CHANNEL,),
            packages=tuple(dict.fromkeys((*(specs[tool] for tool in tools), *of_libraries))),
            reason=f"{why}; installed into fastinstall's cache, not into the environment",
        )


COMPILER = CondaCompiler()


def make_extra_command(facts: Facts) -> str:
    """Return the command that adds py-rattler to fastinstall, for the tool (uv, pipx or pip) that installed it."""
    parts = facts.tool_prefix.parts
    if ("uv", "tools") in pairwise(parts):
        return "uv tool install 'fastinstall[conda]'"
    if ("pipx", "venvs") in pairwise(parts):
        return "pipx install --force 'fastinstall[conda]'"
    return f"{quote(facts.tool_prefix / 'bin/python')} -m pip install 'fastinstall[conda]'"
