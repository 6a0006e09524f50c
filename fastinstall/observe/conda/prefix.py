"""Observe a conda environment from its files alone: its packages, claims, history, pins and leftovers.

conda is neither run nor imported. This module is imported only for conda environments. Malformed lines of
`conda-meta/history` are skipped, because this module uses the history only as a hint. Source: conda's `History` and
`get_pinned_specs`.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.secrets import public_text
from fastinstall.model.conda import Conda, CondaRevision
from fastinstall.model.facts import Distribution, Interpreter
from fastinstall.observe.conda.channels import channels_of_environment, read_configured_channels, usual_channels
from fastinstall.observe.conda.claims import observe_claims
from fastinstall.observe.conda.executable import find_conda
from fastinstall.observe.conda.records import read_records


def observe_conda(
    prefix: Path,
    interpreter: Interpreter,
    replaced: tuple[str, ...],
    variables: Mapping[str, str],
    *,
    distributions: tuple[Distribution, ...],
    thorough: bool = True,
) -> Conda:
    """Return conda's facts about an environment, from its files.

    Args:
        replaced: names of distributions that provide PIL, normalised.
        variables: the shell's environment variables.
        distributions: the distributions that claim files of PIL.
        thorough: if True, read every relevant file. Otherwise, a file that only one package claims counts as unaltered
            if its times show no change since the package's record was written.
    """
    conda_meta, site = prefix / "conda-meta", _relativize(interpreter.site_packages, prefix)
    records = read_records(conda_meta)
    claims, clashes, unreadable = observe_claims(prefix, records, replaced, site, distributions, thorough=thorough)
    executable = find_conda(variables, prefix)
    root = Path(executable.root) if executable is not None else None
    return Conda(
        packages=records.packages,
        unreadable=records.unreadable | unreadable,
        claims=claims,
        clashes=clashes,
        pins=read_pinned_specs(conda_meta),
        revisions=observe_revisions(conda_meta, replaced),
        is_base=root == prefix or any(package.name == "conda" for package in records.packages),
        channels=channels_of_environment(prefix, variables),
        has_channels=bool(read_configured_channels(variables, prefix, root)),
        usual_channels=usual_channels(variables, prefix, root),
        stale=observe_stale(prefix, site),
        debris=observe_debris(prefix, site, replaced),
        tool=executable,
    )


def _relativize(site_packages: PurePath, prefix: Path) -> str:
    """Return site-packages relative to the prefix, even if the two paths lead through different symbolic links."""
    relative = os.path.relpath(site_packages, prefix)
    if not relative.startswith(".."):
        return relative
    return os.path.relpath(os.path.realpath(site_packages), os.path.realpath(prefix))


_ASIDE = ".c~"
_TRASH = ".conda_trash"
_TRASH_DIRECTORY = ".trash"
_PLACES = ("", "conda-meta", "bin", "lib", "include")


def observe_stale(prefix: Path, site: str) -> tuple[str, ...]:
    """List `site-packages` of other Python versions that still contain distributions, relative to the prefix.

    Args:
        site: the environment's site-packages, relative to the prefix.
    """
    found = []
    for name in foreign.list_names(prefix / "lib"):
        place = f"lib/{name}/site-packages"
        if name.startswith("python") and place != site and not (prefix / "lib" / name).is_symlink():
            held = foreign.list_names(prefix / place)
            found += [place] if any(each == "PIL" or each.endswith(".dist-info") for each in held) else []
    return tuple(found)


def observe_debris(prefix: Path, site: str, replaced: tuple[str, ...]) -> tuple[str, ...]:
    """Return files that killed or failed removals left behind, relative to the prefix.

    The prefix, its `conda-meta`, `bin`, `lib`, `include` and site-packages, and directories of PIL are searched. Until
    a transaction ends, conda keeps each removed file as "NAME.c~". conda renames a file that cannot be removed to
    "NAME.conda_trash"; py-rattler moves such a file into ".trash". Source: conda's `UnlinkPathAction` and
    `unlink_or_rename_to_trash`.

    Args:
        site: the environment's site-packages, relative to the prefix.
        replaced: names of distributions that provide PIL.
    """
    names = foreign.list_names(prefix / site)
    own = [f"{prefix}/{site}/{name}" for name in names if name == "PIL" or _is_of_pil(name, replaced)]
    skipped = len(str(prefix)) + 1
    below = (directory[skipped:] for each in own for directory, _, _ in os.walk(each))
    found = {f"{_TRASH_DIRECTORY}/{name}" for name in foreign.list_names(prefix / _TRASH_DIRECTORY)}
    for place in (*_PLACES, site, *below):
        leftovers = (name for name in foreign.list_names(prefix / place) if name.endswith(_ASIDE) or _TRASH in name)
        found.update(f"{place}/{name}" if place else name for name in leftovers)
    return tuple(sorted(found))


def _is_of_pil(name: str, replaced: Iterable[str]) -> bool:
    """Return whether an entry of site-packages has metadata or libraries of a distribution that provides PIL."""
    stem = name.partition("-")[0].removesuffix(".libs")
    return stem.replace("_", "-").lower() in replaced and not name.endswith(".py")


_BESIDE_PIL = frozenset({"fastinstall-guard", "jpeg", "libjpeg-turbo", "libtiff"})
_HEADING = re.compile(r"==>\s*(.+?)\s*<==")
_COMMAND = re.compile(r"#\s*cmd:\s*(.+)")
_PACKAGED = (".conda", ".tar.bz2")


def observe_revisions(conda_meta: Path, replaced: tuple[str, ...]) -> tuple[CondaRevision, ...]:
    """Return the revisions that installed or removed a package relevant to PIL, oldest first.

    Args:
        conda_meta: the directory with the history.
        replaced: names of packages that provide PIL. The packages in `_BESIDE_PIL` are also relevant.
    """
    names = _BESIDE_PIL.union(replaced)
    lines = (line.strip() for line in foreign.text_or_empty(conda_meta / "history").splitlines())
    blocks: list[list[str]] = []  # each heading with the lines below it; lines before the first heading are ignored
    for line in lines:
        if _HEADING.match(line):
            blocks.append([])
        if blocks and line:
            blocks[-1].append(line)
    revisions = (_parse_revision(number, block, names) for number, block in enumerate(blocks))
    return tuple(revision for revision in revisions if revision.linked or revision.unlinked)


def read_pinned_specs(conda_meta: Path) -> tuple[str, ...]:
    """Return the match specs in the file `conda-meta/pinned`, without comments."""
    lines = (line.strip() for line in foreign.text_or_empty(conda_meta / "pinned").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _parse_revision(number: int, block: list[str], names: frozenset[str]) -> CondaRevision:
    heading, *lines = block
    found = _HEADING.match(heading)
    commands = (command[1] for command in map(_COMMAND.match, lines) if command)
    linked = _parse_dists(line.removeprefix("+") for line in lines if not line.startswith(("-", "#")))
    unlinked = _parse_dists(line[1:] for line in lines if line.startswith("-"))
    came = {*map(_name_of, linked), *names}
    return CondaRevision(
        number=number,
        at=found[1] if found else "",
        command=public_text(next(commands, "")),
        linked=tuple(dist for dist in linked if _name_of(dist) in names),
        unlinked=tuple(dist for dist in unlinked if _name_of(dist) in names),
        dropped=tuple(dist for dist in unlinked if _name_of(dist) not in came),
    )


def _parse_dists(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the packages in lines of the history as "NAME-VERSION-BUILD", without their channels."""
    found = []
    for line in lines:  # a line reads, for example, "https://host/channel/linux-64::NAME-VERSION-BUILD"
        dist = line.rpartition("::")[2]
        dist = next((dist.removesuffix(suffix) for suffix in _PACKAGED if dist.endswith(suffix)), dist)
        if dist.count("-") > 1:
            found.append(dist)
    return tuple(found)


def _name_of(dist: str) -> str:
    return dist.rsplit("-", 2)[0].lower()
