"""A conda environment, from its files alone: `conda-meta`, what it records, and conda's configuration.

No conda is run and none is imported. This module is imported for conda environments only.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from fastinstall.model.conda import Conda
from fastinstall.model.facts import Distribution, Interpreter
from fastinstall.probes.conda_channels import channels_of_environment, configured_channels, usual_channels
from fastinstall.probes.conda_claims import observe_claims
from fastinstall.probes.conda_history import observe_pins, observe_revisions
from fastinstall.probes.conda_leftovers import observe_debris, observe_stale
from fastinstall.probes.conda_records import read_records
from fastinstall.probes.conda_tool import find_conda
from fastinstall.probes.distributions import observe_distributions


def observe_conda(  # noqa: PLR0913 (how thoroughly to look, and what was observed already, is asked of every probe of files)
    prefix: Path,
    interpreter: Interpreter,
    replaced: tuple[str, ...],
    variables: Mapping[str, str],
    *,
    tool: bool = False,
    thorough: bool = True,
    distributions: tuple[Distribution, ...] | None = None,
) -> Conda:
    """What conda knows of an environment.

    Args:
        prefix: the environment.
        interpreter: its Python.
        replaced: names of distributions that provide PIL, normalised.
        variables: the shell's environment variables.
        tool: also tell of the conda executable.
        thorough: read every file that matters. Else a file that one package alone claims and that has not changed
            since its record was written, by its times, counts as it was recorded.
        distributions: those that claim files of PIL, where they were observed already.
    """
    conda_meta, site = prefix / "conda-meta", _relative(interpreter.site_packages, prefix)
    records = read_records(conda_meta)
    if distributions is None:
        distributions = tuple(each for each in observe_distributions(prefix / site) if each.name in replaced)
    found = observe_claims(prefix, records, replaced, site, distributions, thorough=thorough)
    executable = find_conda(variables, prefix)
    root = Path(executable.root) if executable is not None else None
    return Conda(
        packages=records.packages,
        unreadable=records.unreadable | found.unreadable,
        claims=found.claims,
        clashes=found.clashes,
        pins=observe_pins(conda_meta),
        revisions=observe_revisions(conda_meta, replaced),
        is_base=root == prefix or any(package.name == "conda" for package in records.packages),
        channels=channels_of_environment(prefix, variables),
        has_channels=bool(configured_channels(variables, prefix, root)),
        usual_channels=usual_channels(variables, prefix, root),
        stale=observe_stale(prefix, site),
        debris=observe_debris(prefix, site, replaced),
        tool=executable if tool else None,
    )


def _relative(site_packages: PurePath, prefix: Path) -> str:
    """Where site-packages is in the environment, however either is spelled."""
    relative = os.path.relpath(site_packages, prefix)
    if not relative.startswith(".."):
        return relative
    return os.path.relpath(os.path.realpath(site_packages), os.path.realpath(prefix))
