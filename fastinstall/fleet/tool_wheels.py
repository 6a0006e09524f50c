"""Put wheels of fastinstall itself and its dependencies beside a stack's wheels, for machines without a package index.

Such a machine unpacks the wheels that fit it, and runs `python -m fastinstall` from the directory with the unpacked
files, without pip.

fastinstall's own wheel is not downloaded from its origin (PEP 610), but built from the running code: from the checkout
of an editable installation, otherwise from the installed files.
"""

import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path, PurePosixPath

from fastinstall import __version__
from fastinstall.core import codec, files, foreign, sealed_trees, temporary_directories
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.directories import tool_requirements
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, run
from fastinstall.index.pip import pip_environment
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_sound_metadata, read_sums
from fastinstall.model.results import ToolWheels
from fastinstall.observe.session import Session
from fastinstall.observe.stack import is_altered, read_rows
from fastinstall.wheelbuild.output_directory import explain_write_errors, refuse_links, replace_files
from fastinstall.wheelbuild.package_index import SUMS
from fastinstall.wheelbuild.requirements import fetch_dependencies
from fastinstall.wheelbuild.wheel_files import pack_wheel, read_wheel_tags

PLACE = "tool"
"""Name of the directory for these wheels in a wheelhouse."""

_OLDEST = (3, 11)
_CLASSIFIER = re.compile(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", re.MULTILINE)
_OF_ONE_MINOR = re.compile(r"cp3(\d+)")


def fetch_tool(
    session: Session,
    wheelhouse: Path,
    *,
    pythons: Sequence[str] = (),
    machines: Sequence[str] = (),
    offline: bool = False,
) -> tuple[ToolWheels, dict[str, Path]]:
    """Fetch the wheels that `publish_tool` puts into `wheelhouse`/tool, without changing that directory.

    They support every Python that fastinstall supports, every Python that the directory already supports, and
    `pythons`. They also support every architecture that the directory already supports, and `machines`.

    Args:
        session: provides variables and the cache.
        wheelhouse: the wheelhouse; it may be missing.
        pythons: further versions of Python, minor ("3.14") or full; those before 3.11 are ignored.
        machines: further architectures, as the kernel names them; empty for this machine's.
        offline: use no index; every wheel must then be in the cache.

    Returns:
        The wheels as they will be in the directory, and a map from each file's name to its current path.

    Raises:
        FailedError: fastinstall's wheel cannot be built, or fetching dependencies failed for every Python.
        DocumentError: SHA256SUMS in the directory cannot be read.
        RefusedError: the directory is a symbolic link.
    """
    refuse_links(wheelhouse, (PLACE,))
    directory = wheelhouse / PLACE
    there = read_sums(directory / SUMS)
    session.emit(Started(stage="download", message="fetching fastinstall itself and its dependencies"))
    cache = session.own_cache()
    wheel = make_tool_wheel(cache, session.variables, offline=offline)
    wanted = _list_minors(wheel, there, pythons)
    gathered = {wheel.name: wheel}
    targets = tuple(product(_list_machines(there, machines or (platform.machine(),)), wanted))
    failures: dict[tuple[str, str], FailedError] = {}
    for machine, minor in targets:
        try:
            wheels = fetch_dependencies(tool_requirements(), minor, machine, cache, session.variables, offline=offline)
        except FailedError as error:
            failures[machine, minor] = error
        else:
            gathered |= {path.name: path for path in wheels}
    if len(failures) == len(targets):
        raise failures[targets[0]]
    left_out = {minor: (*error.details, error.message)[0] for (_, minor), error in failures.items()}
    for minor, reason in left_out.items():
        session.emit(Noted(message=f"fastinstall is left out for Python {minor}: {reason}", warning=True))
    tool = ToolWheels(
        directory=directory,
        wheel=wheel.name,
        version=wheel.name.split("-")[1],
        pythons=tuple(minor for minor in wanted if minor not in left_out),
        files={name: files.sha256(path) for name, path in sorted(gathered.items())},
        left_out=left_out,
    )
    return tool, gathered


@contextmanager
def publish_tool(session: Session, tool: ToolWheels, paths: Mapping[str, Path]) -> Iterator[ToolWheels]:
    """Put fetched wheels and their SHA256SUMS into their directory; undo that if the `with` block raises.

    Intact files are kept. Files of an earlier run that are no longer needed are removed. Other files are not touched.

    Raises:
        FailedError: a file cannot be written; the directory is unchanged.
        EnvironmentDamagedError: the directory was changed in part, and cannot be restored.
        DocumentError: SHA256SUMS in the directory cannot be read.
    """
    directory, sums = Path(tool.directory), tool.files
    there = read_sums(directory / SUMS)
    with replace_files(directory) as staged:
        with explain_write_errors(directory):
            for name, path in paths.items():
                found = files.sha256(directory / name) if (directory / name).is_file() else sums[name]
                if found != sums[name] and found != there.get(name, found).lower():
                    problem = f"{directory / name}: damaged (does not match {SUMS}): replaced"
                    session.emit(Noted(message=problem, warning=True))
                staged.write(name, path.read_bytes(), durable=False)
            staged.write(SUMS, "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items()).encode())
        yield tool
    for name in sorted(there.keys() - sums.keys()):
        path = directory / name
        try:
            files.discard(path)
        except OSError as error:
            problem = f"{path}: of an earlier run, and cannot be removed: {error.strerror}"
            session.emit(Noted(message=f"{problem}; remove it yourself: rm {quote(path)}", warning=True))


def _list_machines(served: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return the architectures that the files in `served` are for, followed by `more`, each once."""
    known = [each.machine for each in ARCHITECTURES if any(f"_{each.machine}." in name for name in served)]
    return tuple(dict.fromkeys((*known, *more)))


def _list_minors(wheel: Path, served: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return the minor versions of Python to support, each once, lowest first, from 3.11 on.

    These are the versions in the classifiers of the wheel, the version of the running Python, the versions of
    version-specific wheels among the file names in `served`, and `more`.
    """
    named = _CLASSIFIER.findall(read_sound_metadata(wheel))
    parsed = [known for name in served if name.endswith(".whl") and (known := parse_filename(name)) is not None]
    interpreters = {tag.interpreter for each in parsed for tag in each.tags if tag.interpreter == tag.abi}
    ours = [f"3.{match[1]}" for each in interpreters if (match := _OF_ONE_MINOR.fullmatch(each))]
    versions = (*named, f"{sys.version_info.major}.{sys.version_info.minor}", *ours, *more)
    found = {(int(match[1]), int(match[2])) for each in versions if (match := re.match(r"(\d+)\.(\d+)", each))}
    return tuple(f"{major}.{minor}" for major, minor in sorted(found) if (major, minor) >= _OLDEST)


_PACKAGE = Path(__file__).resolve().parent.parent
_PIP = (sys.executable, "-P", "-m", "pip")
_SECONDS = 300.0
_OF_A_CHECKOUT = (
    *("fastinstall", "recipes", "hooks", "requirements/with-tool.txt"),
    *("pyproject.toml", "README.md", "LICENSE"),
)
_OF_AN_INSTALLATION = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "RECORD.jws", "RECORD.p7s")
"""Files that an installer adds to `.dist-info`; of these, RECORD is also in a wheel, and is written anew."""


def make_tool_wheel(cache: Path, variables: Mapping[str, str], *, offline: bool = False) -> Path:
    """Return the path, in the cache, of a wheel of the running fastinstall; the same files give the same bytes.

    Args:
        cache: root of fastinstall's cache.
        variables: environment variables; pip's settings among them say where to get the build backend.
        offline: use no index; the wheel of a checkout must then be in the cache.

    Raises:
        FailedError: the wheel cannot be built, or the installed files were changed since their installation.
    """
    above = _PACKAGE.parent
    is_checkout = not (_PACKAGE / "_data").is_dir() and (above / "pyproject.toml").is_file()
    checkout = above if is_checkout else None
    contents = _list_checkout_contents(checkout) if checkout is not None else _list_installed_contents()
    place = cache / "tool" / "own" / codec.digest({name: files.sha256(path) for name, path in contents.items()})[:32]
    found = next(place.glob("fastinstall-*.whl"), None) if sealed_trees.is_intact(place, cache=cache) else None
    if found is not None:
        return found
    with temporary_directories.temporary_directory("tool", within=cache / "tmp") as space:
        fresh = space / "wheel"
        fresh.mkdir()
        if checkout is not None:
            _build(checkout, fresh, variables, offline=offline)
        else:
            _pack(contents, space / "tree", fresh)
        sealed_trees.publish_sealed(fresh, place, space / "aside", cache=cache)
    return next(place.glob("fastinstall-*.whl"))


def _list_checkout_contents(checkout: Path) -> dict[str, Path]:
    """Return the files of a checkout that its wheel is built from, by path relative to the checkout."""
    found = [path for name in _OF_A_CHECKOUT for path in (checkout / name, *(checkout / name).rglob("*"))]
    shown = sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(checkout).as_posix(): path for path in shown}


def _build(checkout: Path, directory: Path, variables: Mapping[str, str], *, offline: bool) -> None:
    if offline:
        raise FailedError(
            f"the wheel of {checkout} is not in the cache, and building it needs to fetch its build backend",
            hint="run the command once without --offline; the cache keeps what it fetches",
        )
    words = ("wheel", "--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", str(directory), str(checkout))
    try:
        run((*_PIP, *words), environment=pip_environment(variables), timeout=_SECONDS, while_working=True)
    except CommandError as error:
        hint = f"{quote(sys.executable)} -m pip wheel --no-deps {quote(checkout)}"
        raise FailedError(f"{checkout}: its wheel cannot be built", hint=hint, details=error.details) from error


def _list_installed_contents() -> dict[str, Path]:
    """Return the installed files that belong in the wheel, by their names in it.

    Raises:
        FailedError: RECORD is missing, or a file was changed since its installation.
    """
    site = _PACKAGE.parent
    metadata = next(site.glob("fastinstall-*.dist-info"), None)
    rows = read_rows(foreign.bytes_or_empty(metadata / "RECORD")) if metadata is not None else ()
    if not rows:
        raise FailedError(f"{_PACKAGE}: no RECORD, so its wheel cannot be put together", hint=_reinstall())
    contents = {row[0]: site / row[0] for row in rows if _is_of_wheel(PurePosixPath(row[0]))}
    for row in rows:
        if row[0] in contents and is_altered(str(site), row, -1, {}):
            raise FailedError(f"{contents[row[0]]}: changed since it was installed", hint=_reinstall())
    return contents


def _is_of_wheel(path: PurePosixPath) -> bool:
    """Return whether an installed file came from the wheel, and not from the installer (a script or a note)."""
    is_note = path.parent.name.endswith(".dist-info") and path.name in _OF_AN_INSTALLATION
    return ".." not in path.parts and not path.is_absolute() and not is_note


def _pack(contents: Mapping[str, Path], tree: Path, directory: Path) -> None:
    for name, path in contents.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tree / name)
    tags = read_wheel_tags(tree)
    stem = next(tree.glob("fastinstall-*.dist-info")).name.removesuffix(".dist-info")
    pack_wheel(tree, directory / f"{stem}-{tags.python}-{tags.abi}-{'.'.join(tags.platforms)}.whl")


def _reinstall() -> str:
    return f"{quote(sys.executable)} -m pip install --force-reinstall --no-deps fastinstall=={__version__}"
