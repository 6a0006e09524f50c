"""Reads as much of conda's match specs as sentences about them need: whose they are. Pure.

Not a solver's reading: which packages a spec matches is never decided here.
Source: conda's documentation of `conda.models.match_spec.MatchSpec`.
"""

import re

_NAME = re.compile(r"(?:[^\s\[]*::)?\s*([A-Za-z0-9_][A-Za-z0-9_.-]*|\*)")


def name_of(spec: str) -> str:
    """The name of the package that a spec speaks of: "pillow" of "conda-forge::pillow >=12"; empty if it has none."""
    match = _NAME.match(spec.strip())
    return match[1].lower() if match is not None else ""


def bounds_of(spec: str) -> str:
    """What a spec says behind the name: ">=12" of "conda-forge::pillow >=12"; empty if it says nothing."""
    match = _NAME.match(spec.strip())
    return spec.strip()[match.end() :].strip() if match is not None else ""
