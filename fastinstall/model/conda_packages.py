"""The stack as conda packages, and conda's records, specs and pins about PIL. Pure.

- Names, dependencies and conflicts of the packages. Source: conda's package specification (`index.json`), the grammar
  of its match specs, and conda-forge's convention of bounds (">=1.2.3,<2.0a0").
- Match specs are only read for messages about them. This module never decides which packages a spec matches. Source:
  conda's documentation of `conda.models.match_spec.MatchSpec`.
- Requirements of conda's packages and pins on Pillow's version become Python version specifiers. Only specs with the
  same meaning in both are translated; the solver's preview decides the rest. The exception is pre-releases, which conda
  sorts below a bound and PEP 440 leaves out. Source: conda's package match specifications; the version specifiers of
  PEP 440.
- Pins that would keep the package out are found, and conda commands are worded for an environment.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePath

from fastinstall.core.architecture import architecture_of, level_label
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.elf.cpu_levels import rank
from fastinstall.model.artefact import WheelOrder
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Dependant, Facts
from fastinstall.model.recipe import PROVIDERS, NativeRequirement, Recipe
from fastinstall.model.request import LinkMode, Request

GUARD = "fastinstall-guard"
"""Name of the package that stops solvers from replacing the stack."""

GUARD_VERSION = "1"
"""Version of the guard package's purpose; the build string distinguishes contents."""

CHANNEL = "share/fastinstall/channel"
"""The channel inside an environment, relative to its prefix."""

REGISTRATION = "condarc.d/fastinstall.yml"
"""Relative to the prefix: conda and mamba read it if the environment is active or the target."""


_OURS = re.compile(r"[a-z]+_(?:(?:v\d)+|native)_py\d+t?_\d+")
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
        build: of the wheel.
        facts: of the target.
        microarchitectures: CPU level to the names of the processors that have it.
        number: distinguishes later builds of the same version and levels; they have a higher one.
        libraries: the recipe's, for link mode "env".
    """
    public, _, label = build.version.partition("+")
    levels = "".join(map(level_label, build.levels))
    return CondaPackage(
        name=build.distribution,
        version=public,
        build=f"{label.partition('.')[0] or 'simd'}_{levels}_py{facts.interpreter.abi.removeprefix('cp')}_{number}",
        build_number=preference(build.levels) + number,
        subdir=architecture_of(facts.cpu.architecture).conda_subdir,
        channel=(facts.environment.prefix / CHANNEL).as_uri(),
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
    # Python's ABI is in a separate package, in its build string, or nowhere.
    major, minor = (int(part) for part in interpreter.version.split(".")[:2])
    python = conda.named("python") if conda is not None else None
    abi = f" *_{interpreter.abi}" if python is not None and python.build.endswith(f"_{interpreter.abi}") else ""
    yield f"python >={major}.{minor},<{major}.{minor + 1}.0a0{abi}"
    if conda is not None and conda.named("python_abi") is not None:
        yield f"python_abi {major}.{minor}.* *_{interpreter.abi}"
    # The official wheel's minimum; without one, the C library of the build.
    given = build.prebuilt or build.base_wheel
    promised = find_required_glibc(given.filename) if given is not None else None
    own = re.match(r"(\d+)\.(\d+)", interpreter.libc_version)
    if promised is None and own is not None:
        promised = (int(own[1]), int(own[2]))
    if interpreter.libc == "glibc" and promised is not None:
        yield glibc_spec(promised)
    names = microarchitectures.get(next(iter(build.levels), ""), ())
    if names:
        # One of several build strings, which all solvers understand, or at least accept. Without brackets, classic
        # loses what stands in parentheses. libsolv, in mamba and conda's libmamba, knows no choice between builds: it
        # reads a choice between versions, of which `^1$` is the one that every processor has. That stands neither
        # first nor last, for there libsolv takes what is around it along.
        patterns = [f"^{name}$" for name in (names[0], "1", *names[1:], names[0])]
        yield f'__archspec ==1[build="{"|".join(patterns)}"]'
    if build.link is LinkMode.ENV and conda is not None:
        linked = [libraries[name] for name in build.libraries if name in libraries and name not in build.statics]
        installed = (conda.named(name) for library in linked for name in library.conda)
        yield from sorted({make_bounded_spec(package, conda) for package in installed if package is not None})


def plan_guard_package(stack: CondaPackage, prefix: PurePath, keeps: tuple[str, ...] = ()) -> CondaPackage:
    """Return the package that stops solvers from replacing the stack; the final one bears a digest.

    Args:
        stack: the protected package.
        prefix: the environment.
        keeps: packages that the replaced Pillow depended on. Nothing else may need them, and if a solver removed them,
            a rollback would leave a Pillow without its libraries.
    """
    return CondaPackage(
        name=GUARD,
        version=GUARD_VERSION,
        build="0",
        subdir="noarch",
        channel=(prefix / CHANNEL).as_uri(),
        depends=keeps,
        constrains=(f"{stack.name} * {stack.build.partition('_')[0]}_*",),
    )


def is_ours(package: CondaPackage) -> bool:
    """Return whether fastinstall made a package: the stack or its guard."""
    return package.name == GUARD or (package.name in PROVIDERS and _OURS.fullmatch(package.build) is not None)


def preference(levels: tuple[str, ...]) -> int:
    """Return the first build number: among builds that a processor can run, solvers take the highest.

    The highest level counts first, then the lowest: v2 < v2+v3 < v3 < v2+v3+v4 < v4 < native.
    """
    ranks = [rank(level) or 5 for level in levels]
    return 1000 * max(ranks) + 100 * min(ranks)


def make_bounded_spec(package: CondaPackage, conda: Conda) -> str:
    """Return a match spec for a linked library: the installed version or later, with the same ABI.

    Channels know how long the ABI lasts: the upper bound is the one that most packages of the environment use. Without
    any, it is the next major release.
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
    """Return the oldest glibc that platform tags promise, or None if they promise none.

    Args:
        tags: of a wheel, or its file name ("manylinux_2_27_x86_64.manylinux_2_28_x86_64").

    Source: PEP 600.
    """
    found = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", tags)]
    found += [version for name, version in _GLIBC_OF.items() if f"{name}_" in tags]
    return min(found, default=None)


def glibc_spec(version: tuple[int, int]) -> str:
    """Return the match spec for at least this version of glibc."""
    return f"__glibc >={version[0]}.{version[1]},<3.0.a0"


TURBO, IJG, TIFF = "libjpeg-turbo", "jpeg", "libtiff"


def providers(recipe: Recipe) -> frozenset[str]:
    """Return the conda package names that provide what a recipe replaces."""
    names = (*recipe.replaces, recipe.source.pypi, recipe.source.base_wheel)
    return frozenset(name.lower().replace("_", "-") for name in names)


def find_replaced_packages(conda: Conda, recipe: Recipe) -> tuple[CondaPackage, ...]:
    """Return the installed packages to replace: those that provide PIL, and a guard package."""
    names = {*providers(recipe), GUARD}
    return tuple(package for package in conda.packages if package.name in names)


def conda_command(facts: Facts, verb: str, *words: str) -> str:
    """Return a pasteable conda command for this environment."""
    tool = facts.conda.tool if facts.conda is not None else None
    start = tool.command if tool is not None else ("conda",)
    return shlex.join((*start, verb, "--prefix", str(facts.environment.prefix), *words))


def foreign_channels(channels: Iterable[str]) -> tuple[str, ...]:
    """Return channels without the one inside the environment, each once."""
    return tuple(dict.fromkeys(channel for channel in channels if channel and not channel.endswith(CHANNEL)))


_NAME = re.compile(r"(?:[^\s\[]*::)?\s*([A-Za-z0-9_][A-Za-z0-9_.-]*|\*)")


def name_of(spec: str) -> str:
    """Return the package name in a spec: "pillow" of "conda-forge::pillow >=12"; empty if it has none."""
    match = _NAME.match(spec.strip())
    return match[1].lower() if match is not None else ""


def bounds_of(spec: str) -> str:
    """Return the part of a spec after the name: ">=12" of "conda-forge::pillow >=12"; empty without one."""
    match = _NAME.match(spec.strip())
    return spec.strip()[match.end() :].strip() if match is not None else ""


PINS = "conda-meta/pinned"
"""Relative to the prefix: match specs that conda's solvers obey."""

_RELEASE = r"\d+(?:\.\d+)*"
_CLAUSE = re.compile(rf"(?P<sign>[<>=!~]=|[<>=]|)(?P<version>{_RELEASE}(?:(?:a|b|rc)\d+)?)(?P<star>\.?\*)?")


def conda_dependants(conda: Conda, names: Collection[str]) -> tuple[Dependant, ...]:
    """Return installed conda packages, and pins, that only accept some versions.

    Args:
        conda: the environment.
        names: of the packages that provide PIL.

    Returns:
        One for each spec that restricts the version; a pin is a dependant named after its file.
    """
    found = [(PINS, "", spec) for spec in conda.pins]
    for package in conda.packages:
        if not is_ours(package) and package.name not in names:
            found += [(package.name, package.version, spec) for spec in (*package.depends, *package.constrains)]
    asked = ((name, version, *version_asked(spec)) for name, version, spec in found)
    return tuple(
        Dependant(name=name, requirement=f"{wanted}{specifier}", version=version)
        for name, version, wanted, specifier in dict.fromkeys(asked)
        if wanted in names and specifier
    )


def all_dependants(python: Iterable[Dependant], conda: Iterable[Dependant]) -> tuple[Dependant, ...]:
    """Return the dependants among Python's distributions and conda's packages; duplicates are listed once."""
    found: dict[tuple[str, frozenset[str]], Dependant] = {}
    for each in (*python, *conda):
        asked = frozenset(re.split(r"(?=[<>=!~])(?<![<>=!~])|,", each.requirement.replace(" ", "")))
        found.setdefault((each.name, asked), each)
    return tuple(found.values())


def dependants_of(facts: Facts) -> tuple[Dependant, ...]:
    """Return everything installed in an environment that only accepts some versions of Pillow."""
    if facts.conda is None:
        return facts.stack.dependants
    return all_dependants(facts.stack.dependants, conda_dependants(facts.conda, PROVIDERS))


def build_asked(spec: str) -> tuple[str, str]:
    """Return the name in a match spec, and its pattern for the build string: ("pillow", "simd_*")."""
    return name_of(spec), _split_bounds(spec)[1]


def version_asked(spec: str) -> tuple[str, str]:
    """Return the name in a match spec, and its version specifier: ("pillow", ">=9.5,<10").

    The specifier is empty if every version fits, or if Python cannot express it.
    """
    version, found = _split_bounds(spec)[0], []
    for clause in map(_CLAUSE.fullmatch, version.split(",") if "|" not in version else ()):
        if clause is None:
            continue
        sign, number, star = clause["sign"], clause["version"], clause["star"]
        if sign in {"", "="}:
            found.append(f"=={number}.*" if star or sign else f"=={number}")
        elif star and sign in {"!=", ">="}:
            found.append(f"{sign}{number}{'.*' if sign == '!=' else ''}")
        elif not star and (sign != "~=" or "." in number):
            found.append(f"{sign}{number}")
    return name_of(spec), ",".join(found)


def _split_bounds(spec: str) -> tuple[str, str]:
    """Return version and build after a name: of ">=9.5,<10 py311_0", or "9.5=py311_0"; none with brackets."""
    rest = re.sub(r"\s*([,|])\s*", r"\1", re.sub(r"([<>=!~])\s+", r"\1", bounds_of(spec)))
    words = rest.split() if "[" not in rest else []
    if len(words) == 1 and (joined := re.fullmatch(r"([^=]*[^=<>!~,|])=([^=,|]+)", words[0])) is not None:
        return joined[1], joined[2]
    return (words[0] if words else "", words[1] if len(words) > 1 else "*")


def pin_line(package: CondaPackage) -> str:
    """Return the line of `conda-meta/pinned` that keeps a stack to our builds ("pillow * simd_*")."""
    return f"{package.name} * {package.build.partition('_')[0]}_*"


def is_pinned(conda: Conda, package: CondaPackage) -> bool:
    """Return whether a pin keeps a stack to our builds, in any spelling."""
    return build_asked(pin_line(package)) in map(build_asked, conda.pins)


def refuse_contrary_pins(facts: Facts, package: CondaPackage, request: Request) -> None:
    """Raise if a pin requires another build than the package's, or if ours would be the second pin.

    Raises:
        RefusedError: names the line.
    """
    conda, file = facts.conda, facts.environment.prefix / PINS
    others = [pin for pin in conda.pins if name_of(pin) == package.name] if conda is not None else []
    for pin in others:
        build = build_asked(pin)[1]
        if not build.startswith("^") and not fnmatchcase(package.build, build):
            raise RefusedError(
                f"{file} pins {package.name} to other builds: {pin!r}",
                hint=f"remove that line from {quote(file)}; --pin adds one for this build",
            )
    if request.pin and others and conda is not None and not is_pinned(conda, package):
        raise RefusedError(
            f"--pin: {file} already pins {package.name}: {others[0]!r}; two pins may conflict",
            hint=f"remove that line from {quote(file)}, or omit --pin",
        )
