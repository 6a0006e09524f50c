"""The system's package manager: which one, the command to show, and installation if allowed.

apt is driven and tested; dnf uses the same few arguments.

C headers can be unpacked from the system's packages into our cache, without root and without changing the system; apt
only. The packages come through apt's own verification of signatures and hashes; if the system's package lists are
missing or stale, a private set is kept beside the headers. Only the requested packages are unpacked, or what a
transitional package stands for: a `lib*.so` among the files may be a dangling link, because the library's own package
is not unpacked.
"""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastinstall.core import files, foreign, sealed_trees
from fastinstall.core.archive_members import ArchiveError, Objection
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, run

_PROGRAMS = {"apt": ("apt-get", "dpkg"), "dnf": ("dnf", "rpm")}
_INSTALL = {
    "apt": ("apt-get", "install", "--yes", "--no-install-recommends"),
    "dnf": ("dnf", "install", "--assumeyes"),
}
_PATIENT = {
    "apt": ("-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30"),
    "dnf": (),
}
_QUIET = ("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
_SECONDS = 1800.0
_LISTS = Path("/var/lib/apt/lists")
_REPAIR = "apt-get update; dpkg --configure -a"


def package_manager(variables: Mapping[str, str]) -> str | None:
    """Return this machine's package manager: "apt", "dnf" or None.

    Args:
        variables: the environment; PATH is read.
    """
    path = variables.get("PATH", os.defpath)
    for manager, programs in _PROGRAMS.items():
        if all(shutil.which(program, path=path) for program in programs):
            return manager
    return None


def install_command(manager: str, packages: tuple[str, ...], *, root: bool | None = None) -> str:
    """Return the command to paste for installing packages.

    Args:
        manager: "apt" or "dnf".
        packages: their names.
        root: whether the command is for root; None for the current user.
    """
    may = may_install() if root is None else root
    return shlex.join((*(() if may else ("sudo",)), *_INSTALL[_require_known_manager(manager, packages)], *packages))


def may_install() -> bool:
    """Return whether this user may install system packages: root only, because we never call sudo."""
    return os.geteuid() == 0


def install_packages(manager: str, packages: tuple[str, ...], emit: Emit) -> None:
    """Install system packages; installed ones stay unchanged.

    Raises:
        RefusedError: not root, or an unknown manager.
        FailedError: the manager failed; the last lines of its output are shown.
    """
    command = install_command(manager, packages)
    if not may_install():
        raise RefusedError(f"only root can install {', '.join(packages)}", hint=command)
    emit(Noted(message=f"installing with {manager}: {', '.join(packages)}"))
    try:
        _install(manager, packages)
    except CommandError as error:
        raise FailedError(
            f"{manager} could not install {', '.join(packages)}: {error.message}",
            hint=f"{_REPAIR}; {command}" if manager == "apt" else command,
            details=error.details,
        ) from error


def _install(manager: str, packages: tuple[str, ...]) -> None:
    update_first = manager == "apt" and not any(_LISTS.glob("*_Packages*"))
    if update_first:
        _update()
    words = (*_INSTALL[manager], *_PATIENT[manager], *(("--no-upgrade",) if manager == "apt" else ()), *packages)
    completed = run((*_QUIET, *words), check=False, timeout=_SECONDS)
    if completed.exit_code == 0:
        return
    if manager != "apt" or update_first:
        raise CommandError(f"exit code {completed.exit_code}", completed)
    _update()  # outdated lists name files that no longer exist
    run((*_QUIET, *words), timeout=_SECONDS)


def _update() -> None:
    run((*_QUIET, "apt-get", "update", *_PATIENT["apt"]), timeout=_SECONDS)


def _require_known_manager(manager: str, packages: tuple[str, ...]) -> str:
    if manager not in _INSTALL:
        raise RefusedError(
            f"unknown package manager ({manager!r})",
            hint=f"install these with your package manager: {' '.join(map(quote, packages))}",
        )
    return manager


_OURS = ("-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1")
_HEADERS_PATIENT = ("-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20")
_HEADERS_SECONDS = 300.0
_URI = re.compile(r"^'[^']+' (?P<file>\S+\.deb) \d+ (?P<hash>\S*)$")
_DEPENDS = re.compile(r"^\s*(?:Pre)?Depends: (?P<name>[a-z0-9][a-z0-9+.-]*-dev)$")
_ARCHITECTURE = re.compile(r"\w+-linux-\w+")
_PLAIN = re.compile(r"d|[-lh][r-][w-][x-][r-][w-][x-][r-][w-][x-] ")
"""Files and links without special permission bits, as tar lists them, and directories."""
_DEPTH = 3  # libjpeg-dev -> libjpeg8-dev -> libjpeg-turbo8-dev is the longest chain known


@dataclass(frozen=True, slots=True)
class _View:
    """One view of the package archive: options for every apt command."""

    options: tuple[str, ...]

    def apt(self, program: str, *words: str, directory: Path | None = None) -> str:
        argv = ("env", "LC_ALL=C.UTF-8", program, *_OURS, *_HEADERS_PATIENT, *self.options, *words)
        return run(argv, directory=directory, timeout=_HEADERS_SECONDS).stdout


def unpack_headers(manager: str, packages: tuple[str, ...], cache: Path, emit: Emit) -> Path:
    """Unpack development packages below our cache, once per set of versions.

    Args:
        manager: "apt".
        packages: names of packages, like "libtiff-dev".
        cache: our cache directory.
        emit: receives an event for each download.

    Returns:
        The root of the unpacked tree; `include_directories` finds its headers.

    Raises:
        FailedError: apt does not know a package, or cannot download it.
        RefusedError: another manager than apt.
    """
    if manager != "apt":
        raise RefusedError(
            f"headers can only be unpacked from apt's packages, not from {manager}'s",
            hint=install_command(manager, packages) if manager == "dnf" else f"install {' '.join(packages)}",
        )
    home = cache / "headers"
    known = _find_remembered_tree(home, packages)
    if known is not None:
        return known
    failure: CommandError | None = None
    for view in _open_views(home, emit):
        try:
            tree = _unpack(view, packages, home, emit)
        except CommandError as error:
            failure = error
        else:
            files.write_text(_locate_note(home, packages), tree.name)
            return tree
    raise _explain_apt_failure(packages, failure)


def include_directories(root: Path) -> tuple[Path, ...]:
    """Return an unpacked tree's directories of headers: `usr/include`, each architecture's, and Python's."""
    include = root / "usr" / "include"
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))


def _find_remembered_tree(home: Path, packages: tuple[str, ...]) -> Path | None:
    """Return the tree that these packages had with the current package lists."""
    try:
        tree = home / foreign.read_text(_locate_note(home, packages), encoding="ascii")
    except OSError:
        return None
    return tree if tree.parent == home and sealed_trees.is_intact(tree, cache=home.parent) else None


def _locate_note(home: Path, packages: tuple[str, ...]) -> Path:
    lists = (path.stat().st_mtime_ns for path in (_LISTS, home / "apt" / "lists") if path.is_dir())
    key = hashlib.sha256(repr((sorted(packages), *lists)).encode()).hexdigest()[:16]
    return home / "notes" / key


def _open_views(home: Path, emit: Emit) -> Iterator[_View]:
    private = home / "apt"
    lists, archives = private / "lists", private / "archives"
    for directory in (lists / "partial", archives / "archives" / "partial"):
        directory.mkdir(parents=True, exist_ok=True)
    yield _View(_make_cache_options(private / "system.bin"))
    view = _View(
        (
            "-o",
            f"Dir::State::lists={lists}/",
            "-o",
            f"Dir::Cache={archives}/",
            *_make_cache_options(private / "own.bin"),
        )
    )
    if any(lists.glob("*_Packages*")):
        yield view
    emit(Noted(message="fetching the system's package lists into fastinstall's cache"))
    _update_package_lists(view)
    yield view


def _make_cache_options(path: Path) -> tuple[str, ...]:
    """Let apt keep its parsed lists in our cache: containers often keep none, which costs 0.5 s a command."""
    return ("-o", f"Dir::Cache::pkgcache={path}", "-o", "Dir::Cache::srcpkgcache=")


def _update_package_lists(view: _View) -> None:
    try:
        view.apt("apt-get", "update")
    except CommandError as error:
        raise FailedError(
            f"cannot fetch the system's package lists: {error.message}",
            hint="check the network and /etc/apt; or, as root: apt-get update",
            details=error.details,
        ) from error


def _unpack(view: _View, packages: tuple[str, ...], home: Path, emit: Emit) -> Path:
    versions = _list_download_versions(view, (*packages, *_list_dependencies(view, packages)))
    tree = home / _make_key(packages, versions)
    if sealed_trees.is_intact(tree, cache=home.parent):
        return tree
    emit(Noted(message=f"unpacking headers of {', '.join(packages)} into fastinstall's cache"))
    with files.temporary_directory("headers", within=home) as directory:
        fresh = directory / "root"
        fresh.mkdir()
        _extract_all(view, packages, fresh)
        sealed_trees.publish(fresh, tree, directory / "aside", cache=home.parent)
    return tree


def _extract_all(view: _View, packages: tuple[str, ...], root: Path) -> None:
    for depth in range(_DEPTH):
        with files.temporary_directory("packages", within=root.parent) as directory:
            view.apt("apt-get", "download", *packages, directory=directory)
            transitional = tuple(
                path.name.partition("_")[0] for path in directory.iterdir() if not _extract(path, root)
            )
        packages = _list_dependencies(view, transitional) if transitional and depth + 1 < _DEPTH else ()
        if not packages:
            return


def _extract(archive: Path, root: Path) -> bool:
    """Unpack one package; return whether it contained a header.

    The system's archive signs the content; dpkg itself writes through no link and leaves no directory. Links of
    libraries may lead out to the system's library, as Debian's own do.
    """
    listing = run(("dpkg-deb", "--contents", archive), timeout=_HEADERS_SECONDS).stdout
    odd = next((line for line in listing.splitlines() if not _PLAIN.match(line)), None)
    if odd is not None:
        raise ArchiveError(archive, Objection(reason=f"has an entry that no header package needs: {odd.strip()!r}"))
    run(("dpkg-deb", "--extract", archive, root), timeout=_HEADERS_SECONDS)
    _require_inside(archive, root)
    return " ./usr/include/" in listing


def _require_inside(archive: Path, root: Path) -> None:
    """Refuse headers that link to places outside, through any number of links."""
    whole = os.path.realpath(root)
    for directory, below, names in os.walk(root / "usr" / "include"):
        for path in (Path(directory, name) for name in ("", *below, *names)):
            if not Path(os.path.realpath(path)).is_relative_to(whole):
                member = str(path.relative_to(root))
                raise ArchiveError(archive, Objection(member=member, reason="is a link that leads out of the package"))


def _list_dependencies(view: _View, packages: tuple[str, ...]) -> tuple[str, ...]:
    listing = view.apt("apt-cache", "depends", *packages)
    matches = (_DEPENDS.match(line) for line in listing.splitlines())
    return tuple(dict.fromkeys(match["name"] for match in matches if match))


def _list_download_versions(view: _View, packages: tuple[str, ...]) -> tuple[str, ...]:
    listing = view.apt("apt-get", "download", "--print-uris", *dict.fromkeys(packages))
    matches = (_URI.match(line) for line in listing.splitlines())
    return tuple(f"{match['file']} {match['hash']}" for match in matches if match)


def _make_key(packages: tuple[str, ...], versions: tuple[str, ...]) -> str:
    text = "\n".join((*sorted(packages), *sorted(versions)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _explain_apt_failure(packages: tuple[str, ...], failure: CommandError | None) -> FailedError:
    return FailedError(
        f"apt cannot provide the headers of {', '.join(packages)}",
        hint=install_command("apt", packages),
        details=failure.details if failure else (),
    )
