"""Records in `conda-meta`: read installed ones, and correct those that an engine just wrote."""

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.conda.history_file import make_requested_spec
from fastinstall.core.errors import FailedError
from fastinstall.core.files import discard, write_bytes, write_text
from fastinstall.core.secrets import public_text
from fastinstall.index.pip_indexes import local_path
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.observe.conda.records import (
    Fields,
    UnreadableRecordError,
    package_from_record,
    parse_fields,
    read_all_fields,
)


def read_linked_records(prefix: Path) -> dict[str, Fields]:
    """Read the records of an environment, by the packages' names; unreadable ones are left out."""
    documents = (read_linked_record(path) for path in sorted((prefix / "conda-meta").glob("*.json")))
    return {str(document["name"]): document for document in documents if document.get("name")}


def finalize_linked_records(scratch: Path, prefix: Path, packages: Iterable[CondaPackage]) -> None:
    """Make records of packages that were linked beside an environment those of the environment.

    Raises:
        FailedError: a record is missing, or a linked file names the scratch directory.
    """
    for package in packages:
        path = scratch / "conda-meta" / package.record
        document = read_linked_record(path)
        if not document:
            raise FailedError(f"{package.dist}: the engine linked it but wrote no record at {path}")
        for entry in document.get("paths_data", {}).get("paths", ()):
            # Files in which the prefix was written must name the environment.
            if entry.get("prefix_placeholder") and bytes(scratch) in (scratch / entry["_path"]).read_bytes():
                raise FailedError(f"{entry['_path']}: contains {scratch}, where it was linked temporarily")
        file = local_path(package.url)
        if file is not None:  # what the engine unpacked for the time being is gone
            unpacked = str(file.with_name(package.dist))
            document["package_tarball_full_path"], document["extracted_package_dir"] = str(file), unpacked
            document["link"] = {"source": unpacked, "type": 1}  # hard-linked
        spec = make_requested_spec(package)
        finished = _set_requests({**document, **_make_origin(package)}, [spec] if spec else [])
        here, there = (json.dumps(str(place))[1:-1] for place in (scratch, prefix))
        write_text(path, _format_record(finished).replace(here, there), durable=False)


def finalize_changed_records(prefix: Path, change: CondaChange, before: Mapping[str, Fields]) -> None:
    """Record as the user's requests what was one before an engine's explicit work, and see that all came and went.

    Raises:
        FailedError: the environment is not what was asked for.
    """
    now = read_linked_records(prefix)
    for package in change.linked:
        document, earlier = now.get(package.name, {}), before.get(package.name, {})
        found = package_from_record(document)
        different = package.sha256 and found.sha256 and found.sha256 != package.sha256
        if found.dist != package.dist or different:
            raise FailedError(f"{prefix}: {package.dist} should have been installed, but is missing")
        one = earlier.get("requested_spec")
        specs = list(earlier.get("requested_specs") or ([one] if one else []))
        finished = _set_requests({**document, **_make_origin(package)}, specs)
        write_record(prefix / "conda-meta" / package.record, finished)
    left = {package.name for package in change.unlinked} - {package.name for package in change.linked}
    for name in sorted(left & now.keys()):
        raise FailedError(f"{prefix}: {name} should have been removed, but is present")


def give_files_to_later(prefix: Path, linked: Collection[str], before: Mapping[str, bytes]) -> None:
    """Give files that two packages bring to the package that came later, as conda does, after py-rattler's work.

    py-rattler decides by names, and puts the other's file below `__clobbers__/PACKAGE/`; a package installed for those
    files would then be installed in vain.

    Args:
        prefix: the environment, after py-rattler's work.
        linked: the records' names of what came.
        before: every record as it was.
    """
    records = prefix / "conda-meta"
    for name, text in before.items():
        if (records / name).is_file() and name not in linked:
            # What was put aside of a package that was there goes, and it has its record back.
            fresh = _find_asides(read_linked_record(records / name)).keys() - _find_asides(parse_fields(text)).keys()
            for aside in fresh:
                discard(prefix / aside)
            if fresh:
                write_bytes(records / name, text, durable=False)
    for name in linked:
        _take_places(prefix, records / name)
    directory = prefix / "__clobbers__"
    for each in (*sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True), directory):
        with suppress(OSError):  # files of somebody are in it, or it is not there
            each.rmdir()


def _take_places(prefix: Path, path: Path) -> None:
    """Put a package's files where they belong, and say so in its record."""
    document = read_linked_record(path)
    moved = _find_asides(document)
    for aside, place in moved.items():
        if os.path.lexists(prefix / aside):
            (prefix / place).parent.mkdir(parents=True, exist_ok=True)
            os.replace(prefix / aside, prefix / place)
    if moved:
        for entry in document["paths_data"]["paths"]:
            entry["_path"] = entry.pop("original_path", None) or entry["_path"]
        document["files"] = [moved.get(file, file) for file in document.get("files", [])]
        write_record(path, document)


def _find_asides(document: Fields) -> dict[str, str]:
    """Return the paths of files that the engine put aside, each with the path that its package wants."""
    entries = document.get("paths_data", {}).get("paths", [])
    return {entry["_path"]: entry["original_path"] for entry in entries if entry.get("original_path")}


def hide_credentials(prefix: Path) -> None:
    """Remove credentials from the channels and URLs in the records of an environment."""
    for path in sorted((prefix / "conda-meta").glob("*.json")):
        document = read_linked_record(path)
        shown = {key: public_text(str(document[key])) for key in ("channel", "url") if document.get(key)}
        if {**document, **shown} != document:
            write_record(path, {**document, **shown})


def read_linked_record(path: Path) -> Fields:
    """Read a record; return an empty one if it cannot be read."""
    try:
        return read_all_fields(path)
    except UnreadableRecordError:
        return {}


def write_record(path: Path, document: Fields) -> None:
    """Write a record as conda does."""
    write_text(path, _format_record(document), durable=False)


def _format_record(document: Fields) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _make_origin(package: CondaPackage) -> Fields:
    """Return channel with subdirectory, as conda writes it, and URL."""
    channel = {"channel": f"{package.channel.rstrip('/')}/{package.subdir}"} if package.channel else {}
    return {**channel, **({"url": package.url} if package.url else {})}


def _set_requests(document: Fields, specs: list[str]) -> Fields:
    """Return the record with these as what the user asked for."""
    others = {key: value for key, value in document.items() if key not in ("requested_spec", "requested_specs")}
    return {**others, "requested_spec": specs[0], "requested_specs": specs} if specs else others
