"""The packages with which conda-forge distinguishes CPU levels, for the tests' channel."""

from collections.abc import Iterator

from support.conda.packages import CondaPackage

from fastinstall.conda.extra import find_microarchitectures

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def processors() -> Iterator[CondaPackage]:
    """Yield a `_x86_64-microarch-level` package for each type of CPU; its version is the highest level of that type."""
    highest = {name: level[-1] for level, names in find_microarchitectures(LEVELS).items() for name in names}
    for name, number in highest.items():
        yield CondaPackage(
            name="_x86_64-microarch-level",
            version=number,
            build=f"2_{name}",
            depends=(f"__archspec 1 {name}",),
            noarch="generic",
        )
