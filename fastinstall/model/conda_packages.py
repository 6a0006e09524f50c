"""Plan the conda packages of a stack (names, dependencies, constraints), and write conda commands for hints. Pure.

Source: conda's package specification (`index.json`), the grammar of its match specs, and conda-forge's convention for
bounds (">=1.2.3,<2.0a0").
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from fastinstall.core.architecture import LABEL_PATTERN, architecture_of, level_label
from fastinstall.core.file_url import file_url
from fastinstall.elf.cpu import rank
from fastinstall.model.artefact import WheelOrder
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import PROVIDERS, NativeRequirement, Recipe
from fastinstall.model.request import LinkMode

GUARD = "fastinstall-guard"
"""Name of the package that stops solvers from replacing the stack."""

GUARD_VERSION = "1"
"""Version of the guard package; constant, because the build string distinguishes different contents."""

CHANNEL = "share/fastinstall/channel"
"""Directory of the channel inside an environment, relative to its prefix."""

REGISTRATION = "condarc.d/fastinstall.yml"
"""Configuration file, relative to the prefix, that conda and mamba read if the environment is active or the target."""


_OURS = re.compile(rf"[a-z]+_(?:{LABEL_PATTERN})+_py\d+t?_\d+")
_GLIBC_OF = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


def plan_stack_package(
    build: WheelOrder,
    facts: Facts,
    microarchitectures: Mapping[str, tuple[str, ...]],
    *,
    number: int,
    libraries: Mapping[str, NativeRequirement] | None = None,
) -> CondaPackage:
    """Return the conda package for a wheel.

    Args:
        build: the order for the wheel, with its levels, libraries and label.
        facts: the observations of the target; its Python and conda packages decide the dependencies.
        microarchitectures: archspec's names of the processors that have a CPU level, by level.
        number: a number that tells builds of the same version and levels apart; later builds need higher numbers.
        libraries: the recipe's libraries, for link mode "env".
    """
    public, _, label = build.version.partition("+")
    levels = "".join(map(level_label, build.levels))
    return CondaPackage(
        name=build.distribution,
        version=public,
        build=f"{label.partition('.')[0] or 'simd'}_{levels}_py{facts.interpreter.abi.removeprefix('cp')}_{number}",
        build_number=preference(build.levels) + number,
        subdir=architecture_of(facts.cpu.architecture).conda_subdir,
        channel=file_url(facts.environment.prefix / CHANNEL),
        depends=tuple(_list_dependencies(build, facts, microarchitectures, libraries or {})),
        constrains=tuple(f"{name} <0.0.0a" for name in PROVIDERS if name != build.distribution),
    )


def _list_dependencies(
    build: WheelOrder,
    facts: Facts,
    microarchitectures: Mapping[str, tuple[str, ...]],
    libraries: Mapping[str, NativeRequirement],
) -> Iterator[str]:
    interpreter, conda = facts.interpreter, facts.conda
    # Conda records Python's ABI as a separate package, in the build string of "python", or not at all.
    major, minor = (int(part) for part in interpreter.version.split(".")[:2])
    python = conda.named("python") if conda is not None else None
    abi = f" *_{interpreter.abi}" if python is not None and python.build.endswith(f"_{interpreter.abi}") else ""
    yield f"python >={major}.{minor},<{major}.{minor + 1}.0a0{abi}"
    if conda is not None and conda.named("python_abi") is not None:
        yield f"python_abi {major}.{minor}.* *_{interpreter.abi}"
    # The package requires the same glibc as the prebuilt or base wheel; without such a wheel, it requires this
    # machine's glibc.
    given = build.prebuilt or build.base_wheel
    promised = find_required_glibc(given.filename) if given is not None else None
    own = re.match(r"(\d+)\.(\d+)", interpreter.libc_version)
    if promised is None and own is not None:
        promised = (int(own[1]), int(own[2]))
    if interpreter.libc == "glibc" and promised is not None:
        yield glibc_spec(promised)
    names = microarchitectures.get(next(iter(build.levels), ""), ())
    if names:
        # A choice between build strings, in a form that all solvers accept. Without brackets, the classic solver drops
        # parentheses. libsolv (in mamba and conda's libmamba) has no choice between builds: it reads the pattern as a
        # choice between versions, in which `^1$` matches every processor. `^1$` must be neither first nor last, because
        # libsolv would then include the characters around it.
        patterns = [f"^{name}$" for name in (names[0], "1", *names[1:], names[0])]
        yield f'__archspec ==1[build="{"|".join(patterns)}"]'
    if build.link is LinkMode.ENV and conda is not None:
        linked = [libraries[name] for name in build.libraries if name in libraries and name not in build.statics]
        installed = (conda.named(name) for library in linked for name in library.conda)
        yield from sorted({make_bounded_spec(package, conda) for package in installed if package is not None})


def plan_guard_package(stack: CondaPackage, prefix: PurePath, keeps: tuple[str, ...] = ()) -> CondaPackage:
    """Return the guard package, which stops solvers from replacing the stack.

    `fastinstall.conda.package` later adds a digest to the guard package's build string.

    Args:
        stack: the protected package; the guard constrains its name and build string.
        prefix: the environment, whose channel contains the guard package.
        keeps: specs of packages that the replaced Pillow depended on. If a solver removed them as unneeded, Pillow
            would lack its libraries after a rollback.
    """
    return CondaPackage(
        name=GUARD,
        version=GUARD_VERSION,
        build="0",
        subdir="noarch",
        channel=file_url(prefix / CHANNEL),
        depends=keeps,
        constrains=(f"{stack.name} * {stack.build.partition('_')[0]}_*",),
    )


def is_our_package(package: CondaPackage) -> bool:
    """Return whether a package is one of fastinstall's: the stack or its guard."""
    return package.name == GUARD or (package.name in PROVIDERS and _OURS.fullmatch(package.build) is not None)


def preference(levels: tuple[str, ...]) -> int:
    """Return the lowest build number for these levels; solvers choose the highest number among builds that fit a CPU.

    The highest level counts first, then the lowest: v2 < v2+v3 < v3 < v2+v3+v4 < v4 < native.
    """
    ranks = [rank(level) or 5 for level in levels]
    return 1000 * max(ranks) + 100 * min(ranks)


def make_bounded_spec(package: CondaPackage, conda: Conda) -> str:
    """Return a match spec for a linked library: the installed version or a later one with the same ABI.

    The upper bound is the one that most installed packages have for this library, because their channels know when its
    ABI changes. If no package has one, the bound is the next major release.
    """
    pattern = re.compile(rf"{re.escape(package.name)} +(?:[^\s,]+,)*<([\w.]+)")
    given = [match[1] for each in conda.packages for spec in each.depends if (match := pattern.match(spec))]
    leading = re.match(r"((?:0\.)*)(\d+)", package.version)
    if not given and leading is None:
        return f"{package.name} {package.version}"
    following = f"{leading[1]}{int(leading[2]) + 1}.0a0" if leading else ""
    bound = max(sorted(set(given)), key=given.count, default=following)
    return f"{package.name} >={package.version},<{bound}"


def find_required_glibc(tags: str) -> tuple[int, int] | None:
    """Return the oldest glibc version that platform tags name, or None if they name none.

    Args:
        tags: a wheel's platform tags ("manylinux_2_27_x86_64.manylinux_2_28_x86_64"), or its file name.

    Source: PEP 600.
    """
    found = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", tags)]
    found += [version for name, version in _GLIBC_OF.items() if f"{name}_" in tags]
    return min(found, default=None)


def glibc_spec(version: tuple[int, int]) -> str:
    """Return the match spec that requires this version of glibc or a later one."""
    return f"__glibc >={version[0]}.{version[1]},<3.0.a0"


TURBO, IJG, TIFF = "libjpeg-turbo", "jpeg", "libtiff"


def find_replaced_packages(conda: Conda, recipe: Recipe) -> tuple[CondaPackage, ...]:
    """Return the installed packages to replace: those that provide PIL, and the guard package."""
    names = {*recipe.replaces, GUARD}
    return tuple(package for package in conda.packages if package.name in names)


def conda_command(facts: Facts, verb: str, *words: str) -> str:
    """Return a shell command that runs conda's `verb` on the environment of `facts`."""
    tool = facts.conda.tool if facts.conda is not None else None
    start = tool.command if tool is not None else ("conda",)
    return shlex.join((*start, verb, "--prefix", str(facts.environment.prefix), *words))


def foreign_channels(channels: Iterable[str]) -> tuple[str, ...]:
    """Return the channels without duplicates, empty names and the channel inside the environment."""
    return tuple(dict.fromkeys(channel for channel in channels if channel and not channel.endswith(CHANNEL)))
