"""Examine a PIL that programs import instead of the one in site-packages: its version, and whether it may run here.

The target's interpreter has reported its location (`_inside.py`, `_operations.py`).
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.directories import find_home
from fastinstall.core.foreign_code import find_stranger_in
from fastinstall.model.facts import ShadowingPil
from fastinstall.observe.stack import list_distributions_with, read_pil_version


def complete_shadow(shadow: ShadowingPil) -> ShadowingPil:
    """Return the shadowing PIL with its version and distribution added, from the files beside it."""
    version, origin = read_pil_version(Path(shadow.package)) or "", Path(shadow.origin)
    # A `.pth` file is listed in the RECORD of the distribution that is installed from a checkout.
    place, recorded = (origin.parent, origin.name) if shadow.origin else (Path(shadow.entry), "PIL/")
    names = list_distributions_with(place, recorded)
    return replace(shadow, version=version, distribution=next(iter(names), ""))


def may_start_as_program(variables: Mapping[str, str]) -> bool:
    """Return whether an interpreter may run the code that these variables put in front of site-packages.

    The user's own programs run that code anyway. For root, all of it must belong to root: HOME may be another user's,
    and PYTHONPATH may name a world-writable directory.

    Args:
        variables: HOME, PYTHONUSERBASE and PYTHONPATH count.
    """
    named = variables.get("PYTHONPATH", "")
    places = [Path(entry or os.curdir) for entry in named.split(os.pathsep)] if named else []
    if not variables.get("PYTHONNOUSERSITE"):
        base = Path(variables.get("PYTHONUSERBASE") or find_home(variables) / ".local")
        places += [base / "lib" / name / "site-packages" for name in foreign.list_names(base / "lib")]
    return not find_stranger_in(place for place in places if place.exists())
