"""What conda's packages and pins ask of a version of Pillow, in the words of Python's version specifiers. Pure.

Only what says the same in both is translated; the rest is left to the solver's preview. Pre-releases aside, which
conda sorts below a bound and PEP 440 leaves out.

Source: conda's package match specifications; the version specifiers of PEP 440.
"""

import re
from collections.abc import Collection, Iterable

from fastinstall.model.conda import Conda
from fastinstall.model.facts import Dependant, Facts
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.conda_stack import is_ours

PINS = "conda-meta/pinned"
"""Relative to the prefix: match specs that conda's solvers keep to."""

_SPEC = re.compile(r"(?:[^\s\[]*::)?(?P<name>[A-Za-z0-9_.-]+)\s*(?P<rest>[^\[\]]*)")
_RELEASE = r"\d+(?:\.\d+)*"
_CLAUSE = re.compile(rf"(?P<sign>[<>=!~]=|[<>=]|)(?P<version>{_RELEASE}(?:(?:a|b|rc)\d+)?)(?P<star>\.?\*)?")
_BUILD_AFTER = re.compile(r"(?P<version>[^=]*[^=<>!~,|])=(?P<build>[^=,|]+)")


def conda_dependants(conda: Conda, names: Collection[str]) -> tuple[Dependant, ...]:
    """Installed conda packages, and pins, that take some versions only.

    Args:
        conda: the environment.
        names: of the packages that provide PIL.

    Returns:
        One for each spec that says something of the version, each pin as a dependant of the name of its file.
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
    """Those of Python's distributions and those of conda's packages; what both say in other words is told once."""
    found: dict[tuple[str, frozenset[str]], Dependant] = {}
    for each in (*python, *conda):
        asked = frozenset(re.split(r"(?=[<>=!~])(?<![<>=!~])|,", each.requirement.replace(" ", "")))
        found.setdefault((each.name, asked), each)
    return tuple(found.values())


def dependants_of(facts: Facts) -> tuple[Dependant, ...]:
    """Whatever is installed in an environment and takes some versions of Pillow only."""
    if facts.conda is None:
        return facts.stack.dependants
    return all_dependants(facts.stack.dependants, conda_dependants(facts.conda, PROVIDERS))


def build_asked(spec: str) -> tuple[str, str]:
    """The name in a match spec, and the pattern that it has for the build string: ("pillow", "simd_*")."""
    matched = _SPEC.fullmatch(spec.strip())
    return (matched["name"].lower(), _version_and_build(matched["rest"])[1]) if matched is not None else ("", "*")


def version_asked(spec: str) -> tuple[str, str]:
    """The name in a match spec, and what it asks of the version: ("pillow", ">=9.5,<10").

    The specifier is empty where every version will do, or where it cannot be said in Python's terms.
    """
    matched = _SPEC.fullmatch(spec.strip())
    if matched is None:
        return "", ""
    version, _ = _version_and_build(matched["rest"])
    if not version or "|" in version:
        return matched["name"].lower(), ""
    clauses = (_translated(clause) for clause in version.split(","))
    return matched["name"].lower(), ",".join(clause for clause in clauses if clause)


def _version_and_build(rest: str) -> tuple[str, str]:
    """The two parts of what follows a name: ">=9.5,<10 py311_0", or "9.5=py311_0"."""
    close = re.sub(r"\s*([,|])\s*", r"\1", re.sub(r"([<>=!~])\s+", r"\1", rest.strip()))
    words = close.split()
    if len(words) == 1 and (joined := _BUILD_AFTER.fullmatch(words[0])) is not None:
        return joined["version"], joined["build"]
    return (words[0] if words else "", words[1] if len(words) > 1 else "*")


def _translated(clause: str) -> str:
    """One bound in Python's terms; empty where it bounds nothing or cannot be said."""
    matched = _CLAUSE.fullmatch(clause)
    if matched is None:
        return ""
    sign, version, star = matched["sign"], matched["version"], matched["star"]
    if sign in {"", "="}:
        return f"=={version}.*" if star or sign else f"=={version}"
    if not star:
        return "" if sign == "~=" and "." not in version else f"{sign}{version}"
    return {"!=": f"!={version}.*", ">=": f">={version}"}.get(sign, "")
