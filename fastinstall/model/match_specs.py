"""Conda's match specs, read for messages about them and for the versions of Pillow that they accept. Pure.

Which packages a spec matches is never decided here. Only specs with the same meaning as a Python version specifier are
translated; the solver's preview decides the rest. The exception is pre-releases, which conda sorts below a bound and
PEP 440 leaves out. Source: conda's documentation of `conda.models.match_spec.MatchSpec`; the version specifiers of
PEP 440.
"""

import re

_NAME = re.compile(r"(?:[^\s\[]*::)?\s*([A-Za-z0-9_][A-Za-z0-9_.-]*|\*)")


def name_of_spec(spec: str) -> str:
    """Return the package name in a spec: "pillow" of "conda-forge::pillow >=12"; empty if it has none."""
    match = _NAME.match(spec.strip())
    return match[1].lower() if match is not None else ""


def bounds_of(spec: str) -> str:
    """Return the part of a spec after the name: ">=12" of "conda-forge::pillow >=12"; empty without one."""
    match = _NAME.match(spec.strip())
    return spec.strip()[match.end() :].strip() if match is not None else ""


_RELEASE = r"\d+(?:\.\d+)*"

_CLAUSE = re.compile(rf"(?P<sign>[<>=!~]=|[<>=]|)(?P<version>{_RELEASE}(?:(?:a|b|rc)\d+)?)(?P<star>\.?\*)?")


def build_asked(spec: str) -> tuple[str, str]:
    """Return the name in a match spec, and its pattern for the build string: ("pillow", "simd_*")."""
    return name_of_spec(spec), _split_bounds(spec)[1]


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
    return name_of_spec(spec), ",".join(found)


def _split_bounds(spec: str) -> tuple[str, str]:
    """Return version and build after a name: of ">=9.5,<10 py311_0", or "9.5=py311_0"; none with brackets."""
    rest = re.sub(r"\s*([,|])\s*", r"\1", re.sub(r"([<>=!~])\s+", r"\1", bounds_of(spec)))
    words = rest.split() if "[" not in rest else []
    if len(words) == 1 and (joined := re.fullmatch(r"([^=]*[^=<>!~,|])=([^=,|]+)", words[0])) is not None:
        return joined[1], joined[2]
    return (words[0] if words else "", words[1] if len(words) > 1 else "*")
