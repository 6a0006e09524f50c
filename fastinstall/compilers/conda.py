"""A compiler of conda packages, with headers, in a private prefix of the cache; it is nobody's environment.

Which packages they are is decided here; `fastinstall.setup.steps.prepare` has the prefix made.
"""

from collections.abc import Mapping
from itertools import pairwise

from fastinstall.compilers.compiler import CompilerSource, PrivatePackages
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request, ToolchainSource

PACKAGE = "c-compiler"
"""conda-forge's name for whatever compiles C."""

PROGRAMS = ("*-linux-gnu-cc", "*-linux-gnu-gcc", "cc", "gcc", "clang")
"""What the compiler is called in a prefix, as patterns, the preferred one first."""

_CHANNEL = "conda-forge"


class CondaCompiler(CompilerSource):
    """A compiler of conda packages, which cannot be had without py-rattler and a channel."""

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
        """Return packages for what is missing, if this compiler was requested or no other source has it."""
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
        build = f" *_{python.abi}" if python.free_threaded else ""  # the build string of conda-forge's names the ABI
        specs = {"compiler": PACKAGE, "Python.h": f"python {python.minor}.*{build}"}
        of_libraries = (package for packages in libraries.values() for package in packages)
        return PrivatePackages(
            channels=request.channels or channels or (_CHANNEL,),
            packages=tuple(dict.fromkeys((*(specs[tool] for tool in tools), *of_libraries))),
            reason=f"{why}; installed into fastinstall's cache, not into the environment",
        )


COMPILER = CondaCompiler()


def make_extra_command(facts: Facts) -> str:
    """Return the command that makes conda packages available without a conda, beside fastinstall itself."""
    parts = facts.tool_prefix.parts
    if ("uv", "tools") in pairwise(parts):
        return "uv tool install 'fastinstall[conda]'"
    if ("pipx", "venvs") in pairwise(parts):
        return "pipx install --force 'fastinstall[conda]'"
    return f"{quote(facts.tool_prefix / 'bin/python')} -m pip install 'fastinstall[conda]'"
