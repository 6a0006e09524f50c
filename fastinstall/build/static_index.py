"""A directory of wheels as a package index that any web server or file share can offer: pages and metadata beside them.

What lies there decides: wheels that somebody added are offered too, and those that were taken away leave the pages.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fastinstall.build.offered_wheels import METADATA, SUMS, OfferedWheel, moment
from fastinstall.installers.wheelhouse import read_sums
from fastinstall.rules.index_pages import IndexedFile, index_pages
from fastinstall.rules.wheel_variants import Variant, index_file, metadata_of
from fastinstall.system import files

PAGES = "simple"


def write_index(directory: Path, wheels: tuple[OfferedWheel, ...]) -> None:
    """Write metadata, sums and pages of wheels that a survey found, and take away those of wheels that are gone.

    Raises:
        OSError: something cannot be written.
    """
    for wheel in wheels:
        _write(directory / f"{wheel.file.filename}{METADATA}", wheel.metadata)
    _write_sums(directory, {wheel.file.filename: wheel.file.sha256 for wheel in wheels})
    variants = dict(_variants(wheels))
    for name, text in variants.items():
        _write(directory / name, text.encode())
    pages = index_pages([wheel.file for wheel in wheels] + [_listed(directory / name) for name in variants])
    for path, text in sorted(pages.items(), reverse=True):  # the page of a project before what leads to it
        _write(directory / PAGES / path, text.encode())
    _tidy(directory, pages, variants)


def _variants(wheels: Sequence[OfferedWheel]) -> Iterator[tuple[str, str]]:
    """The file that tells the variants of each version that has some (PEP 825), by name."""
    labelled: dict[tuple[str, str], dict[str, Variant]] = {}
    for wheel in wheels:
        if wheel.variant is not None:
            labelled.setdefault((wheel.file.name, wheel.file.version), {})[wheel.variant.label] = wheel.variant
    for (name, version), variants in labelled.items():
        yield index_file(name, version), metadata_of(variants.values())


def _listed(file: Path) -> IndexedFile:
    """A file that tells variants, as its project's page names it."""
    name, version, _ = file.name.split("-")
    return IndexedFile(
        name=name.replace("_", "-"),
        version=version,
        filename=file.name,
        sha256=files.sha256(file),
        size=file.stat().st_size,
        uploaded=moment(file),
    )


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it is as it should be, so that web caches keep what they have."""
    try:
        if path.read_bytes() == content:
            return
    except FileNotFoundError:
        pass
    files.write_bytes(path, content)


def _write_sums(directory: Path, wheels: Mapping[str, str]) -> None:
    """Leave out wheels that are gone; sums of other files, and of wheels that somebody added, stay as they are."""
    there = read_sums(directory / SUMS)
    kept = {name: sha256 for name, sha256 in there.items() if name in wheels or not _is_wheel_of_here(name)}
    if kept != there:
        _write(directory / SUMS, "".join(f"{kept[name]}  {name}\n" for name in sorted(kept)).encode())


def _is_wheel_of_here(name: str) -> bool:
    return name.endswith(".whl") and "/" not in name


def _tidy(directory: Path, pages: Mapping[str, str], variants: Mapping[str, str]) -> None:
    """Take away metadata and variants of wheels that are gone, and pages of projects that have none."""
    for path in directory.glob("*-variants.json"):
        if path.name not in variants:
            files.discard(path)
    for path in directory.glob(f"*.whl{METADATA}"):
        if not path.with_name(path.name.removesuffix(METADATA)).exists():
            files.discard(path)
    for path in (directory / PAGES).glob("*/index.*"):
        if path.relative_to(directory / PAGES).as_posix() not in pages:
            files.discard(path)
    for place in (directory / PAGES).glob("*/"):
        if not any(place.iterdir()):
            place.rmdir()
