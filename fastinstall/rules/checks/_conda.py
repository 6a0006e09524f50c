"""What conda's records say of files that matter to PIL, for several checks."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.conda import CondaClaim, CondaPackage, CondaRevision
from fastinstall.model.facts import Facts
from fastinstall.rules.checks._context import CheckContext

_SHARED_LIBRARY = re.compile(r"lib(jpeg|turbojpeg|tiff)\b[^/]*")
_TAIL = 2


def relative_to_prefix(facts: Facts, path: PurePath) -> str:
    """Give a path as records have it, relative to the prefix; empty for one outside.

    A prefix that is reached by a link may stand in a path as the directory that it is in truth: then the last two of
    its parts tell.
    """
    homes = (facts.environment.prefix, facts.interpreter.prefix)
    inside = (path.relative_to(home) for home in homes if path.is_relative_to(home))
    return str(next(inside, None) or _behind_a_link(path, facts.environment.prefix) or "")


def package_of(context: CheckContext, path: PurePath) -> str:
    """Give the package, by `dist`, whose content a file has; empty where none claims it, or no records were read."""
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    if conda is None or not name:
        return ""
    clash = next((clash for clash in conda.clashes if clash.path == name), None)
    if clash is not None:
        return clash.holder if not clash.holder.startswith("pip: ") else ""
    return next((claim.dist for claim in conda.claims if name in claim.files), "")


def is_unclaimed(context: CheckContext, path: PurePath) -> bool:
    """Whether a library whose claims would be known (libjpeg, libtiff) is no package's."""
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    known = conda is not None and not conda.unreadable and _SHARED_LIBRARY.fullmatch(path.name) is not None
    return known and bool(name) and not package_of(context, path) and not _is_contested(context, name)


def packages_of_pil(facts: Facts) -> Iterator[tuple[CondaPackage, CondaClaim]]:
    """Give the packages that claim files of the PIL of this Python, with what they claim."""
    conda = facts.conda
    below = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/PIL/"
    for claim in conda.claims if conda is not None else ():
        package = installed(facts, claim.dist)
        if package is not None and any(name.startswith(below) for name in claim.files):
            yield package, claim


def installed(facts: Facts, dist: str) -> CondaPackage | None:
    """Give an installed package by its `dist`."""
    packages = facts.conda.packages if facts.conda is not None else ()
    return next((package for package in packages if package.dist == dist), None)


def described(package: CondaPackage) -> str:
    """Name a package for a person: "pillow 12.1.1 (py311h1234567_0 of conda-forge)"."""
    from fastinstall.rules.conda_stack import CHANNEL  # noqa: PLC0415 (only in conda environments)

    channel = "the channel inside this environment" if package.channel.endswith(CHANNEL) else package.channel
    return f"{package.name} {package.version} ({package.build}{f' of {channel}' if channel else ''})"


def bringer(facts: Facts, dist: str) -> CondaRevision | None:
    """Give the last transaction of conda's that brought a package."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    return next((each for each in reversed(revisions) if dist in each.linked), None)


def remover(facts: Facts, dist: str) -> CondaRevision | None:
    """Return the conda transaction that removed a package, or None if the package came back."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    last = next((each for each in reversed(revisions) if dist in (*each.linked, *each.unlinked)), None)
    return last if last is not None and dist not in last.linked else None


def told(revision: CondaRevision | None) -> str:
    """Tell of a transaction, to be put behind what it did: ", by `conda install puretool` at 2026-11-21 12:30:00"."""
    if revision is None:
        return ""
    by = f"by `{_shortened(revision.command)}`" if revision.command else f"in revision {revision.number}"
    return f", {by}{f' at {revision.at}' if revision.at else ''}"


def records(context: CheckContext, *packages: CondaPackage) -> tuple[PurePath, ...]:
    """Give the files of records."""
    directory = context.facts.environment.prefix / "conda-meta"
    return tuple(directory / package.record for package in packages)


def _shortened(command: str) -> str:
    """A command line of conda's history by the name of its program: conda writes the path, of a module too."""
    program, _, words = command.partition(" ")
    path = PurePath(program)
    return f"{path.parent.name if path.stem == '__main__' else path.name} {words}".rstrip()


def _is_contested(context: CheckContext, name: str) -> bool:
    conda = context.facts.conda
    return conda is not None and any(clash.path == name for clash in conda.clashes)


def _behind_a_link(path: PurePath, prefix: PurePath) -> PurePath | None:
    end = prefix.parts[-_TAIL:]
    roots = (parent for parent in path.parents if parent.parts[-_TAIL:] == end and len(parent.parts) > len(end))
    return next((path.relative_to(root) for root in roots), None)
