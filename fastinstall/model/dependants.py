"""Find installed distributions, conda packages and pins that accept only some versions of Pillow. Pure.

Conda's pins are lines of `conda-meta/pinned`; fastinstall's pin restricts the stack to fastinstall's builds.
"""

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.facts import CondaDependant, Dependant, Facts
from fastinstall.model.recipe import PROVIDERS
from fastinstall.model.request import Request

_NAME = re.compile(r"(?:[^\s\[]*::)?\s*([A-Za-z0-9_][A-Za-z0-9_.-]*|\*)")


def name_of_spec(spec: str) -> str:
    """Return the package name in a match spec: "pillow" of "conda-forge::pillow >=12"; empty if it has none."""
    match = _NAME.match(spec.strip())
    return match[1].lower() if match is not None else ""


def bounds_of(spec: str) -> str:
    """Return the part of a match spec after the name: ">=12" of "conda-forge::pillow >=12"; empty if there is none."""
    match = _NAME.match(spec.strip())
    return spec.strip()[match.end() :].strip() if match is not None else ""


_RELEASE = r"\d+(?:\.\d+)*"

_CLAUSE = re.compile(rf"(?P<sign>[<>=!~]=|[<>=]|)(?P<version>{_RELEASE}(?:(?:a|b|rc)\d+)?)(?P<star>\.?\*)?")
_VERSION_KEY = re.compile(r"""\[.*?\bversion\s*=\s*(['"]?)(.*?)\1\s*[,\]]""")


def build_asked(spec: str) -> tuple[str, str]:
    """Return the package name in a match spec, and the pattern for the build string: ("pillow", "simd_*")."""
    return name_of_spec(spec), _split_bounds(spec)[1]


def version_asked(spec: str) -> str:
    """Return the version part of a match spec, in conda's syntax: ">=9.5,<10"; empty if every version matches."""
    keyed = _VERSION_KEY.search(spec)
    version = keyed[2].replace(" ", "") if keyed is not None else _split_bounds(spec)[0]
    return "" if version == "*" else version


def translate_conda_spec(version: str) -> str:
    """Translate the version part of a match spec into a specifier of PEP 440: "10.*" becomes "==10.*".

    The result is empty if PEP 440 cannot express the spec. Use the result for messages and pip; to check a version, use
    `meets_conda_spec`.
    """
    found = []
    for clause in map(_CLAUSE.fullmatch, version.split(",") if "|" not in version else ("",)):
        if clause is None:
            return ""
        sign, number, star = clause["sign"], clause["version"], clause["star"]
        is_release = set(number) <= set("0123456789.")
        if sign in {"", "="} and (star or sign) and is_release:
            found.append(f"=={number}.*")
        elif sign == "" and not star:
            found.append(f"=={number}")
        elif star and sign in {"!=", ">="} and is_release:
            found.append(f"{sign}{number}{'.*' if sign == '!=' else ''}")
        elif sign != "=" and not star and (sign != "~=" or "." in number):
            found.append(f"{sign}{number}")
        else:
            return ""
    return ",".join(found)


def _split_bounds(spec: str) -> tuple[str, str]:
    """Split the part after a spec's name (">=9.5,<10 py311_0", "9.5=py311_0") into version and build string.

    A missing version is returned as "", and a missing build string as "*". If the spec has brackets, both count as
    missing.
    """
    rest = re.sub(r"\s*([,|])\s*", r"\1", re.sub(r"([<>=!~])\s+", r"\1", bounds_of(spec)))
    words = rest.split() if "[" not in rest else []
    if len(words) == 1 and (joined := re.fullmatch(r"([^=]*[^=<>!~,|])=([^=,|]+)", words[0])) is not None:
        return joined[1], joined[2]
    return (words[0] if words else "", words[1] if len(words) > 1 else "*")


PINS = "conda-meta/pinned"
"""File of match specs, one per line, that the solvers of conda, mamba and micromamba obey; relative to the prefix."""


def pin_line(package: CondaPackage) -> str:
    """Return the line of `conda-meta/pinned` that restricts a stack to fastinstall's builds ("pillow * simd_*")."""
    return f"{package.name} * {package.build.partition('_')[0]}_*"


def is_pinned(conda: Conda, package: CondaPackage) -> bool:
    """Return whether a pin, in any spelling, restricts a stack to fastinstall's builds."""
    return build_asked(pin_line(package)) in map(build_asked, conda.pins)


def refuse_contrary_pins(facts: Facts, package: CondaPackage, request: Request) -> None:
    """Refuse a setup if a pin conflicts with the package, or if `--pin` would add a second pin.

    Raises:
        RefusedError: a pin excludes the package, or `--pin` would add a second pin; the message quotes the existing
            pin.
    """
    conda, file = facts.conda, facts.environment.prefix / PINS
    others = [pin for pin in conda.pins if name_of_spec(pin) == package.name] if conda is not None else []
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


def conda_dependants(conda: Conda, names: Collection[str]) -> tuple[Dependant, ...]:
    """Return the conda packages and pins that accept only some versions of Pillow.

    Args:
        conda: the environment's packages and pins.
        names: the names of the packages that provide PIL.

    Returns:
        One dependant for each spec that restricts the version. If the spec is a pin, the dependant's name is that of
        the pin file.
    """
    found = [(PINS, "", spec) for spec in conda.pins]
    for package in conda.packages:
        if not is_our_package(package) and package.name not in names:
            found += [(package.name, package.version, spec) for spec in (*package.depends, *package.constrains)]
    asked = ((name, version, name_of_spec(spec), version_asked(spec)) for name, version, spec in found)
    return tuple(
        CondaDependant(
            name=name,
            requirement=f"{wanted}{translate_conda_spec(versions) or f' {versions}'}",
            version=version,
            versions=versions,
        )
        for name, version, wanted, versions in dict.fromkeys(asked)
        if wanted in names and versions
    )


def all_dependants(python: Iterable[Dependant], conda: Iterable[Dependant]) -> tuple[Dependant, ...]:
    """Return the dependants among Python distributions and conda packages; duplicates are listed once."""
    found: dict[tuple[str, frozenset[str]], Dependant] = {}
    for each in (*python, *conda):
        asked = frozenset(re.split(r"(?=[<>=!~])(?<![<>=!~])|,", each.requirement.replace(" ", "")))
        found.setdefault((each.name, asked), each)
    return tuple(found.values())


def dependants_of(facts: Facts) -> tuple[Dependant, ...]:
    """Return all distributions, conda packages and pins in an environment that accept only some versions of Pillow."""
    if facts.conda is None:
        return facts.stack.dependants
    return all_dependants(facts.stack.dependants, conda_dependants(facts.conda, PROVIDERS))
