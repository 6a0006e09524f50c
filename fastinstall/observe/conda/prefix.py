"""A conda environment from its files alone.

conda is neither run nor imported. This module is imported for conda environments only.
"""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from fastinstall.model.conda import Conda
from fastinstall.model.facts import Distribution, Interpreter
from fastinstall.observe.conda.channels import channels_of_environment, read_configured_channels, usual_channels
from fastinstall.observe.conda.claims import observe_claims
from fastinstall.observe.conda.debris import observe_debris, observe_stale
from fastinstall.observe.conda.executable import find_conda
from fastinstall.observe.conda.records import read_records
from fastinstall.observe.conda.revisions import observe_revisions, read_pinned_specs
from fastinstall.observe.stack import observe_distributions


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
    """Return conda's knowledge of an environment, from its files.

    Args:
        replaced: names of distributions that provide PIL, normalised.
        variables: the shell's environment variables.
        tool: also look for the conda executable.
        thorough: read every relevant file. Otherwise, a file with one claimant that has not changed since its
            record was written, by its times, counts as recorded.
        distributions: those that claim files of PIL, if observed already.
    """
    conda_meta, site = prefix / "conda-meta", _relativize(interpreter.site_packages, prefix)
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
        pins=read_pinned_specs(conda_meta),
        revisions=observe_revisions(conda_meta, replaced),
        is_base=root == prefix or any(package.name == "conda" for package in records.packages),
        channels=channels_of_environment(prefix, variables),
        has_channels=bool(read_configured_channels(variables, prefix, root)),
        usual_channels=usual_channels(variables, prefix, root),
        stale=observe_stale(prefix, site),
        debris=observe_debris(prefix, site, replaced),
        tool=executable if tool else None,
    )


def _relativize(site_packages: PurePath, prefix: Path) -> str:
    """Return where site-packages is in the environment, however either path is spelled."""
    relative = os.path.relpath(site_packages, prefix)
    if not relative.startswith(".."):
        return relative
    return os.path.relpath(os.path.realpath(site_packages), os.path.realpath(prefix))
