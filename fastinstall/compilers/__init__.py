"""The sources of C compilers: one module per value of `--toolchain`, with an instance of its class as `COMPILER`.

To add a source, write a module here with a subclass from `fastinstall.compilers.compiler`, and add the value to
`fastinstall.model.request.ToolchainSource`.
"""

from functools import cache
from importlib import import_module

from fastinstall.compilers.compiler import CompilerSource, WheelCompiler
from fastinstall.core.errors import RefusedError
from fastinstall.model.request import ToolchainSource


@cache
def list_compilers() -> tuple[CompilerSource, ...]:
    """Return all compiler sources, in the order of `ToolchainSource`."""
    words = (each for each in ToolchainSource if each is not ToolchainSource.AUTO)
    return tuple(import_module(f"{__name__}.{word}").COMPILER for word in words)


def find_compiler(word: ToolchainSource) -> CompilerSource | None:
    """Return the compiler source for a value of `--toolchain`; None for "auto"."""
    return next((each for each in list_compilers() if each.word is word), None)


def list_wheel_compilers() -> dict[str, WheelCompiler]:
    """Return the compilers that come in a wheel from the package index; keys are names of distributions."""
    return {each.distribution: each for each in list_compilers() if isinstance(each, WheelCompiler)}


def get_wheel_compiler(distribution: str) -> WheelCompiler:
    """Return the compiler in a distribution's wheels.

    Raises:
        RefusedError: no compiler is known for this distribution.
    """
    found = list_wheel_compilers().get(distribution)
    if found is None:
        raise RefusedError(
            f"no compiler of {distribution} is known here", hint="make a new plan with this version: fastinstall plan"
        )
    return found
