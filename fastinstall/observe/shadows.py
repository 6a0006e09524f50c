"""Examine a PIL that programs import instead of the one in site-packages: its version, and whether it may be run.

The location of that PIL was reported by the target's interpreter (`_inside.py`, `_operations.py`).
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
    """Return a shadowing PIL with its version and distribution added, which are read from files."""
    version, origin = read_pil_version(Path(shadow.package)) or "", Path(shadow.origin)
    # For an editable installation, the distribution is the one whose RECORD lists the `.pth` file.
    place, recorded = (origin.parent, origin.name) if shadow.origin else (Path(shadow.entry), "PIL/")
    names = list_distributions_with(place, recorded)
    return replace(shadow, version=version, distribution=next(iter(names), ""))


def may_start_as_program(variables: Mapping[str, str]) -> bool:
    """Return whether an interpreter may run the code that some environment variables put before site-packages.

    True for ordinary users, whose own programs run that code anyway. For root, true only if root owns the directories
    with that code, their parents and their entries: HOME may be another user's, and PYTHONPATH may name a directory
    that everybody can write to.

    Args:
        variables: environment variables; only HOME, PYTHONUSERBASE, PYTHONNOUSERSITE and PYTHONPATH matter.
    """
    named = variables.get("PYTHONPATH", "")
    places = [Path(entry or os.curdir) for entry in named.split(os.pathsep)] if named else []
    if not variables.get("PYTHONNOUSERSITE"):
        base = Path(variables.get("PYTHONUSERBASE") or find_home(variables) / ".local")
        places += [base / "lib" / name / "site-packages" for name in foreign.list_names(base / "lib")]
    return not find_stranger_in(place for place in places if place.exists())
