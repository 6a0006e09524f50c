"""`conda-meta/history`: what conda's solvers take as the user's requests, and what they therefore keep.

conda (24.7 to 26.7) and libmamba read from it which match specs the user asked for; the records' `requested_spec` is
only for listings. So each setup adds a revision of what came and went. Measured on 2026-11-21 with conda 24.7.1:
without it, `update --all` removes the guard package and puts its own Pillow back. Source: conda's `History`.

The module also lists the renames that put linked conda packages in place, beside those of site-packages, and move aside
what they replace.
"""

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.journal.fingerprints import HISTORY
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaChange, CondaPackage, CondaStack
from fastinstall.model.receipt import Move, MoveKind

_MARK = "simd_"
_GUARD = "fastinstall-guard"
_SPECS = re.compile(r"^#\s*(?P<action>\w+)\s+specs:\s*(?P<specs>\[.*\])\s*$")


def make_requested_spec(package: CondaPackage) -> str:
    """The match spec under which one of our packages is recorded as the user's request; empty for others'.

    That of the stack names no version, so that a later one of ours can come, and no other build.
    """
    if package.build.startswith(_MARK):
        return f"{package.name}[build={_MARK}*]"
    return package.name if package.name == _GUARD else ""


def append_revision(existing: str, at: datetime, command: str, change: CondaChange) -> str:
    """The history with one revision more, as conda writes it.

    Args:
        existing: the text so far.
        at: local time.
        command: the command line that caused it.
        change: what came and what went.
    """
    before = _parse_installed(existing)
    gone = [f"-{before.get(package.dist) or _format_package(package)}" for package in change.unlinked]
    come = [f"+{_format_package(package)}" for package in change.linked]
    specs = [spec for spec in map(make_requested_spec, change.linked) if spec]
    heading = [f"==> {at:%Y-%m-%d %H:%M:%S} <==", f"# cmd: {command}"]
    coming = {package.name for package in change.linked}
    dropped = [package.name for package in change.unlinked if package.name not in coming]
    requests = [f"# {action} specs: {names!r}" for action, names in (("remove", dropped), ("update", specs)) if names]
    revision = [*heading, *sorted(gone), *sorted(come), *requests]
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return kept + "".join(f"{line}\n" for line in revision)


def remove_history_requests(before: str, after: str, installed_again: Iterable[str]) -> str:
    """The history after an engine's work, less what explicit installations add to the user's requests.

    They would pin each package to its very build, and forget what the user had asked for.

    Args:
        before: the text before.
        after: the text now.
        installed_again: names of packages that came.
    """
    if not after.startswith(before):
        return after
    names = frozenset(installed_again)
    added = (_drop_requests(line, names) for line in after[len(before) :].splitlines(keepends=True))
    return before + "".join(added)


def parse_spec_name(spec: str) -> str:
    """The name in a match spec: "pillow" of "conda-forge::pillow>=12"."""
    return re.split(r"[\s=<>!~\[]", spec.rpartition("::")[2], maxsplit=1)[0]


def _drop_requests(line: str, names: frozenset[str]) -> str:
    match = _SPECS.match(line)
    if not match:
        return line
    if match["action"] not in ("remove", "uninstall"):
        return ""
    left = [spec for spec in _parse_literal(match["specs"]) if parse_spec_name(spec) not in names]
    return f"# {match['action']} specs: {left!r}\n" if left else ""


def _parse_installed(history: str) -> dict[str, str]:
    """What is installed by the history: "NAME-VERSION-BUILD" to the line's text."""
    found: dict[str, str] = {}
    for line in history.splitlines():
        text = line[1:].strip()
        if line.startswith("+"):
            found[text.rpartition("::")[2]] = text
        elif line.startswith("-"):
            found.pop(text.rpartition("::")[2], None)
    return found


def _format_package(package: CondaPackage) -> str:
    channel = package.channel.rstrip("/")
    if channel and package.subdir and not channel.endswith(f"/{package.subdir}"):
        channel = f"{channel}/{package.subdir}"
    return f"{channel}::{package.dist}" if channel else package.dist


def _parse_literal(text: str) -> list[str]:
    try:
        return [str(item) for item in ast.literal_eval(text)]
    except (ValueError, SyntaxError):
        return []


def record_revision(
    stack: CondaStack, records: Collection[str], conda: Conda, now: datetime, transaction: Transaction
) -> None:
    """Add a revision to the history.

    Args:
        stack: what came.
        records: that went, by the names of their packages.
        conda: what was installed before.
        now: of this run.
        transaction: whose undo takes the revision out again.
    """
    existing = _read_history(Path(find_prefix(stack)) / HISTORY)
    revised = append_revision(existing, now.astimezone(), "fastinstall setup", _make_change(stack, records, conda))
    transaction.add(HISTORY, revised.removeprefix(existing))


def find_prefix(stack: CondaStack) -> Path:
    """The environment that holds the stack's channel."""
    return Path(stack.channel).parents[2]


def _make_change(stack: CondaStack, records: Collection[str], conda: Conda) -> CondaChange:
    linked = tuple(package for package in (stack.package, stack.guard) if package is not None)
    names = {package.name for package in linked}
    gone = (package for package in conda.packages if package.dist in records or package.name in names)
    return CondaChange(linked=linked, unlinked=tuple(gone))


def _read_history(file: Path) -> str:
    return foreign.text_if_there(file)


_RECORDS = "conda-meta"
_WHOLE = frozenset({".dist-info", ".egg-info", ".libs"})
"""Suffixes of directories in site-packages that belong to one distribution."""


def list_conda_moves(
    prefix: Path, site_packages: Path, root: Path, conda: Conda, records: Collection[str]
) -> tuple[Move, ...]:
    """The moves outside of site-packages, and of what conda alone knows inside it.

    Args:
        prefix: the environment.
        site_packages: of the environment.
        root: the staged environment, at `stage/prefix` of the transaction.
        conda: what conda knows of the environment.
        records: that make room, by the names of their packages.
    """
    site = site_packages.relative_to(prefix)
    linked = list_linked_moves(prefix, root, kept="stage/prefix")
    coming = tuple(move for move in linked if not PurePath(move.live).is_relative_to(site))
    taken = {move.live for move in coming}
    leaving = (f"{_RECORDS}/{dist}.json" for dist in records)
    aside = tuple(_list_leaving_moves(prefix, (path for path in leaving if path not in taken)))
    whole = {str(site / name) for name in find_claimed_entries(site, conda, records)}
    singly = (path for path in _list_claimed_files(conda, records) if path not in taken and not _lies_in(path, whole))
    return (*coming, *aside, *_list_leaving_moves(prefix, singly))


def list_linked_moves(prefix: Path, root: Path, *, kept: str) -> Iterator[Move]:
    """What an engine has linked, file by file, less what it writes beside the records.

    Args:
        prefix: the environment.
        root: the staged environment.
        kept: where `root` lies, relative to the transaction's directory.
    """
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            path = (Path(directory) / name).relative_to(root).as_posix()
            if path.startswith(f"{_RECORDS}/") and not path.endswith(".json"):
                continue
            kind = MoveKind.EXCHANGE if os.path.lexists(prefix / path) else MoveKind.IN
            yield Move(kind=kind, live=path, kept=f"{kept}/{path}")


def find_claimed_entries(site: PurePath, conda: Conda | None, records: Collection[str]) -> tuple[str, ...]:
    """Top-level names in site-packages that are wholly of the conda packages that make room.

    Args:
        site: site-packages, relative to the prefix.
        conda: what conda knows of the environment.
        records: that make room, by the names of their packages.
    """
    if conda is None:
        return ()
    paths = (PurePath(path) for path in _list_claimed_files(conda, records))
    tops = dict.fromkeys(path.relative_to(site).parts[0] for path in paths if path.is_relative_to(site))
    return tuple(name for name in tops if name == "PIL" or PurePath(name).suffix in _WHOLE)


def _list_claimed_files(conda: Conda, records: Collection[str]) -> Iterator[str]:
    """Files of the packages that make room, each once."""
    files = (path for claim in conda.claims if claim.dist in records for path in claim.files)
    return iter(dict.fromkeys(files))


def _lies_in(path: str, directories: set[str]) -> bool:
    return any(str(parent) in directories for parent in (PurePath(path), *PurePath(path).parents))


def _list_leaving_moves(prefix: Path, paths: Iterable[str]) -> Iterator[Move]:
    for path in paths:
        if os.path.lexists(prefix / path):
            yield Move(kind=MoveKind.OUT, live=path, kept=f"aside/conda/{path}")
