"""Where a C compiler can come from: one module each, named after its word for `--toolchain`, its class as `COMPILER`.

To add one, write its module here as `fastinstall.compilers.compiler` says, and its word in
`fastinstall.model.request.ToolchainSource`.
"""

from functools import cache
from importlib import import_module

from fastinstall.compilers.compiler import CompilerSource, WheelCompiler
from fastinstall.core.errors import RefusedError
from fastinstall.model.request import ToolchainSource


@cache
def list_compilers() -> tuple[CompilerSource, ...]:
    """Return all of them, in the order of their words."""
    words = (each for each in ToolchainSource if each is not ToolchainSource.AUTO)
    return tuple(import_module(f"{__name__}.{word}").COMPILER for word in words)


def find_compiler(word: ToolchainSource) -> CompilerSource | None:
    """Return the one that a word asks for; None where the choice is left to us."""
    return next((each for each in list_compilers() if each.word is word), None)


def list_wheel_compilers() -> dict[str, WheelCompiler]:
    """Return those that come in a wheel of the package index, by the distribution's name."""
    return {each.distribution: each for each in list_compilers() if isinstance(each, WheelCompiler)}


def get_wheel_compiler(distribution: str) -> WheelCompiler:
    """Return the compiler in a distribution's wheels.

    Raises:
        RefusedError: they have none that is known.
    """
    found = list_wheel_compilers().get(distribution)
    if found is None:
        raise RefusedError(
            f"no compiler of {distribution} is known here", hint="make a new plan with this version: fastinstall plan"
        )
    return found
