"""fastinstall's own wheel: built from the checkout that runs, or put together again from the files that were installed.

What runs decides, not where it once came from (PEP 610): an editable installation runs its checkout, any other one its
own files, whether an index, a directory or a wheel of this very function brought them.
"""

import base64
import hashlib
import importlib.metadata
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from fastinstall import __version__
from fastinstall.build.wheel import pack_wheel, tags_of
from fastinstall.errors import FailedError
from fastinstall.installers.pip import pip_environment
from fastinstall.model import codec
from fastinstall.rules.messages import quote
from fastinstall.system import files
from fastinstall.system.process import CommandError, run

_PACKAGE = Path(__file__).resolve().parent.parent
_PIP = (sys.executable, "-P", "-m", "pip")
_SECONDS = 300.0
_OF_A_CHECKOUT = ("fastinstall", "recipes", "hooks", "pyproject.toml", "README.md", "LICENSE")
_OF_AN_INSTALLATION = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "RECORD.jws", "RECORD.p7s")
"""Of `.dist-info`: what an installer has put there; RECORD is written anew."""


def own_wheel(cache: Path, variables: Mapping[str, str], *, offline: bool = False) -> Path:
    """The wheel of the fastinstall that runs, in our cache; the same files give the same bytes.

    Args:
        cache: our cache directory.
        variables: the environment; pip's settings in it say where the build backend comes from.
        offline: whether no index may be asked; then a checkout's wheel has to be in the cache.

    Raises:
        FailedError: it cannot be built, or its installed files are not what was installed.
    """
    checkout = _checkout()
    contents = _contents_of(checkout) if checkout is not None else _installed_contents()
    place = cache / "tool" / "own" / codec.digest({name: files.sha256(path) for name, path in contents.items()})[:32]
    found = next(place.glob("fastinstall-*.whl"), None) if place.is_dir() else None
    if found is not None:
        return found
    with files.temporary_directory("tool", within=cache / "tmp") as space:
        fresh = space / "wheel"
        fresh.mkdir()
        if checkout is not None:
            _build(checkout, fresh, variables, offline=offline)
        else:
            _pack(contents, space / "tree", fresh)
        files.publish(fresh, place, space / "aside")
    return next(place.glob("fastinstall-*.whl"))


def _checkout() -> Path | None:
    """Return the checkout that contains this module, or None if it was installed."""
    above = _PACKAGE.parent
    return above if not (_PACKAGE / "_data").is_dir() and (above / "pyproject.toml").is_file() else None


def _contents_of(checkout: Path) -> dict[str, Path]:
    """What goes into the wheel, by names relative to the checkout."""
    found = (path for name in _OF_A_CHECKOUT for path in _files_of(checkout / name))
    return {path.relative_to(checkout).as_posix(): path for path in sorted(found)}


def _files_of(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from (each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)


def _build(checkout: Path, directory: Path, variables: Mapping[str, str], *, offline: bool) -> None:
    if offline:
        raise FailedError(
            f"the wheel of {checkout} is not in the cache, and to build it its build backend has to be fetched",
            hint="the same command without --offline, once; what it fetches is kept",
        )
    words = ("wheel", "--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", str(directory), str(checkout))
    try:
        run((*_PIP, *words), environment=pip_environment(variables), timeout=_SECONDS)
    except CommandError as error:
        hint = f"{quote(sys.executable)} -m pip wheel --no-deps {quote(checkout)}"
        raise FailedError(f"{checkout}: its wheel cannot be built", hint=hint, details=error.details) from error


def _installed_contents() -> dict[str, Path]:
    """The installed files by their names in a wheel, as RECORD lists them.

    Raises:
        FailedError: there is no RECORD, or a file is not as it was installed.
    """
    found = importlib.metadata.distributions(name="fastinstall", path=[str(_PACKAGE.parent)])
    listed = next((dist.files for dist in found if dist.files), None)
    if listed is None:
        raise FailedError(f"{_PACKAGE}: it has no RECORD, so its wheel cannot be put together", hint=_reinstall())
    contents = {each.as_posix(): _PACKAGE.parent / each for each in listed if _is_of_wheel(each)}
    sums = {each.as_posix(): each.hash for each in listed}
    for name, path in contents.items():
        expected = sums[name]
        if not path.is_file() or (expected is not None and _recorded(path, expected.mode) != expected.value):
            raise FailedError(f"{path}: is not as it was installed", hint=_reinstall())
    return contents


def _is_of_wheel(path: PurePosixPath) -> bool:
    """Whether a file came out of the wheel: not a script or bytecode made of it, nor a note of the installer."""
    is_note = path.parent.name.endswith(".dist-info") and path.name in _OF_AN_INSTALLATION
    return ".." not in path.parts and not path.is_absolute() and path.suffix != ".pyc" and not is_note


def _pack(contents: Mapping[str, Path], tree: Path, directory: Path) -> None:
    for name, path in contents.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tree / name)
    tags = tags_of(tree)
    stem = next(tree.glob("fastinstall-*.dist-info")).name.removesuffix(".dist-info")
    pack_wheel(tree, directory / f"{stem}-{tags.python}-{tags.abi}-{'.'.join(tags.platforms)}.whl")


def _recorded(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _reinstall() -> str:
    return f"{quote(sys.executable)} -m pip install --force-reinstall --no-deps fastinstall=={__version__}"
