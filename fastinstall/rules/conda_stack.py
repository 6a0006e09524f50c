"""The stack as conda packages: what they are called, what they need, and what they keep away. Pure.

Source: conda's package specification (`index.json`), the grammar of its match specs, and conda-forge's convention of
bounds (">=1.2.3,<2.0a0").
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.recipe import PROVIDERS, NativeRequirement
from fastinstall.model.steps import Build
from fastinstall.model.wish import LinkMode
from fastinstall.rules.levels import rank

GUARD = "fastinstall-guard"
"""Name of the package that keeps solvers from replacing the stack."""

GUARD_VERSION = "1"
"""Counts what the guard package is for; the build string tells contents apart."""

CHANNEL = "share/fastinstall/channel"
"""The channel inside an environment, relative to its prefix."""

REGISTRATION = "condarc.d/fastinstall.yml"
"""Relative to the prefix: conda and mamba read it where the environment is the active one or the target."""

_NEVER = "<0.0.0a"
_LABEL = "simd"
_OURS = re.compile(r"[a-z]+_(?:(?:v\d)+|native)_py\d+t?_\d+")
_GLIBC_OF = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_NATIVE_RANK = 5


def planned_stack(
    build: Build,
    facts: Facts,
    microarchitectures: Mapping[str, tuple[str, ...]],
    *,
    number: int,
    libraries: Mapping[str, NativeRequirement] | None = None,
) -> CondaPackage:
    """The conda package that a wheel becomes.

    Args:
        build: the step that makes the wheel.
        facts: of the target.
        microarchitectures: CPU level to the names of the processors that have it.
        number: tells later builds of the same version and levels apart; they have the greater.
        libraries: the recipe's, for link mode "env".
    """
    public, _, label = build.version.partition("+")
    levels = "".join(level.removeprefix("x86-64-") for level in build.levels)
    interpreter = facts.interpreter
    depends = (
        *_of_python(interpreter, facts.conda),
        *_of_glibc(build, interpreter),
        *_of_processor(microarchitectures.get(next(iter(build.levels), ""), ())),
        *_of_libraries(build, facts.conda, libraries or {}),
    )
    return CondaPackage(
        name=build.distribution,
        version=public,
        build=f"{label.partition('.')[0] or _LABEL}_{levels}_py{interpreter.abi.removeprefix('cp')}_{number}",
        build_number=preference(build.levels) + number,
        subdir="linux-64",
        channel=_channel(facts.environment.prefix),
        depends=depends,
        constrains=tuple(f"{name} {_NEVER}" for name in PROVIDERS if name != build.distribution),
    )


def planned_guard(stack: CondaPackage, prefix: PurePath, keeps: tuple[str, ...] = ()) -> CondaPackage:
    """The package that keeps solvers from replacing the stack by another build; the final one bears a digest.

    Args:
        stack: what it keeps.
        prefix: the environment.
        keeps: packages that the replaced Pillow depended on. Nothing may need them now, and a solver that tidied them
            away would leave a rollback with a Pillow that lacks its libraries.
    """
    return CondaPackage(
        name=GUARD,
        version=GUARD_VERSION,
        build="0",
        subdir="noarch",
        channel=_channel(prefix),
        depends=keeps,
        constrains=(f"{stack.name} * {stack.build.partition('_')[0]}_*",),
    )


def is_ours(package: CondaPackage) -> bool:
    """Whether a package is one that fastinstall makes: the stack or its guard."""
    return package.name == GUARD or (package.name in PROVIDERS and _OURS.fullmatch(package.build) is not None)


def preference(levels: tuple[str, ...]) -> int:
    """Where build numbers begin: of several builds that a processor can run, solvers take the greatest.

    The highest level counts first, then the lowest: v2 < v2+v3 < v3 < v2+v3+v4 < v4 < native.
    """
    ranks = [rank(level) or _NATIVE_RANK for level in levels]
    return 1000 * max(ranks) + 100 * min(ranks)


def bounded(package: CondaPackage, conda: Conda) -> str:
    """A match spec for a library that is linked: what is installed or later, while its ABI stays.

    How long that is, channels know for their packages: the upper bound is the one that most packages of the
    environment set for it. Where none does, it is the next major release.
    """
    pattern = re.compile(rf"{re.escape(package.name)} +(?:[^\s,]+,)*<([\w.]+)")
    given = [match[1] for each in conda.packages for spec in each.depends if (match := pattern.match(spec))]
    bound = max(sorted(set(given)), key=given.count) if given else _next_major(package.version)
    return f"{package.name} >={package.version},<{bound}" if bound else f"{package.name} {package.version}"


def required_glibc(tags: str) -> tuple[int, int] | None:
    """Return the oldest glibc that platform tags promise, or None if they promise none.

    Args:
        tags: of a wheel, or its file name ("manylinux_2_27_x86_64.manylinux_2_28_x86_64").

    Source: PEP 600.
    """
    found = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", tags)]
    found += [version for name, version in _GLIBC_OF.items() if f"{name}_" in tags]
    return min(found, default=None)


def glibc_spec(version: tuple[int, int]) -> str:
    """The match spec for a glibc of at least this version."""
    return f"__glibc >={version[0]}.{version[1]},<3.0.a0"


def _of_python(interpreter: Interpreter, conda: Conda | None) -> Iterator[str]:
    """Its minor version; which ABI it has is told by a package of its own, or by its build string, or not at all."""
    major, minor = (int(part) for part in interpreter.version.split(".")[:2])
    python = conda.named("python") if conda is not None else None
    abi = f" *_{interpreter.abi}" if python is not None and python.build.endswith(f"_{interpreter.abi}") else ""
    yield f"python >={major}.{minor},<{major}.{minor + 1}.0a0{abi}"
    if conda is not None and conda.named("python_abi") is not None:
        yield f"python_abi {major}.{minor}.* *_{interpreter.abi}"


def _of_glibc(build: Build, interpreter: Interpreter) -> Iterator[str]:
    """The official wheel's promise; without one, the C library that it is built on."""
    if interpreter.libc != "glibc":
        return
    given = build.prebuilt or build.chassis
    version = required_glibc(given.filename) if given is not None else None
    own = re.match(r"(\d+)\.(\d+)", interpreter.libc_version)
    if version is None and own is not None:
        version = (int(own[1]), int(own[2]))
    if version is not None:
        yield glibc_spec(version)


def _of_processor(names: tuple[str, ...]) -> Iterator[str]:
    """One of several build strings, which all solvers understand, or at least accept.

    Without brackets, classic loses what stands in parentheses. libsolv, in mamba and conda's libmamba, knows no
    choice between builds: it reads a choice between versions, of which `^1$` is the one that every processor has.
    That stands neither first nor last, for there libsolv takes what is around it along.
    """
    if names:
        patterns = [f"^{name}$" for name in (names[0], "1", *names[1:], names[0])]
        yield f'__archspec ==1[build="{"|".join(patterns)}"]'


def _of_libraries(build: Build, conda: Conda | None, libraries: Mapping[str, NativeRequirement]) -> Iterator[str]:
    if build.link is not LinkMode.ENV or conda is None:
        return
    linked = [libraries[name] for name in build.libraries if name in libraries and name not in build.statics]
    installed = (conda.named(name) for library in linked for name in library.conda)
    yield from sorted({bounded(package, conda) for package in installed if package is not None})


def _next_major(version: str) -> str:
    leading = re.match(r"((?:0\.)*)(\d+)", version)
    return f"{leading[1]}{int(leading[2]) + 1}.0a0" if leading else ""


def _channel(prefix: PurePath) -> str:
    return (prefix / CHANNEL).as_uri()
