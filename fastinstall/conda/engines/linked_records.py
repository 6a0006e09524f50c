"""Read the records of installed packages in `conda-meta`, and correct records that an engine has just written.

`resolve_linked_paths` predicts the list of files in a record that does not exist yet. Source: CEP 34 (formerly
conda-build's documentation).
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from fastinstall.conda.history_file import make_requested_spec
from fastinstall.core.errors import FailedError
from fastinstall.core.files import discard, write_bytes, write_text
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import public_text
from fastinstall.index.pip import local_path
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.observe.conda import records
from fastinstall.observe.conda.records import Fields, package_from_record


def read_linked_records(prefix: Path) -> dict[str, Fields]:
    """Return the readable records of an environment, by package name."""
    documents = (read_linked_record(path) for path in sorted((prefix / "conda-meta").glob("*.json")))
    return {str(document["name"]): document for document in documents if document.get("name")}


def finalize_linked_records(scratch: Path, prefix: Path, packages: Iterable[CondaPackage]) -> None:
    """Rewrite the records of packages that were linked in `scratch` so that they are valid in the environment.

    Args:
        scratch: the directory in which the packages were linked.
        prefix: the environment that the records will be moved to.
        packages: the linked packages.

    Raises:
        FailedError: a record is missing or unreadable, or a linked file contains the path of the scratch directory.
    """
    for package in packages:
        path = scratch / "conda-meta" / package.record
        document = read_linked_record(path)
        if not document:
            raise FailedError(f"{package.dist}: the engine linked it but wrote no record at {path}")
        for entry in document.get("paths_data", {}).get("paths", ()):
            # A file that contains its prefix must contain the path of the environment, not of the scratch directory.
            if entry.get("prefix_placeholder") and bytes(scratch) in (scratch / entry["_path"]).read_bytes():
                raise FailedError(f"{entry['_path']}: contains {scratch}, where it was linked temporarily")
        file = local_path(package.url)
        if file is not None:  # replace the paths in the engine's temporary package cache by permanent ones
            unpacked = str(file.with_name(package.dist))
            document["package_tarball_full_path"], document["extracted_package_dir"] = str(file), unpacked
            document["link"] = {"source": unpacked, "type": 1}  # type 1 means hard-linked
        spec = make_requested_spec(package)
        finished = _set_requests({**document, **_make_origin(package)}, [spec] if spec else [])
        here, there = (json.dumps(str(place))[1:-1] for place in (scratch, prefix))
        write_text(path, _format_record(finished).replace(here, there), durable=False)


def finalize_changed_records(prefix: Path, change: CondaChange, before: Mapping[str, Fields]) -> None:
    """Check that an engine made the planned change, and restore the user's requests in the new records.

    Each new record gets the channel and URL of the planned package, and the `requested_specs` of that package's earlier
    record.

    Args:
        prefix: the environment, after the change.
        change: the planned change.
        before: the records before the change, by package name.

    Raises:
        FailedError: a package is missing or was not removed.
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
    """Give each file that two packages contain to the package that was installed later, as conda does.

    py-rattler decides by the packages' names, and moves the other package's file below `__clobbers__/PACKAGE/`. Without
    this function, reinstalling a package with py-rattler might not restore the files that other packages contain too.

    Args:
        prefix: the environment, after py-rattler's change.
        linked: the file names of the records of packages that the change installed.
        before: the content of every record before the change, by file name.
    """
    conda_meta = prefix / "conda-meta"
    for name, text in before.items():
        if (conda_meta / name).is_file() and name not in linked:
            # For a package that was not changed, delete its files that were just moved aside, and restore its record.
            now, then = read_linked_record(conda_meta / name), records.parse_fields(text)
            fresh = _find_asides(now).keys() - _find_asides(then).keys()
            for aside in fresh:
                discard(prefix / aside)
            if fresh:
                write_bytes(conda_meta / name, text, durable=False)
    for name in linked:
        _take_places(prefix, conda_meta / name)
    directory = prefix / "__clobbers__"
    for each in (*sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True), directory):
        with suppress(OSError):  # the directory contains other files, or does not exist
            each.rmdir()


def _take_places(prefix: Path, path: Path) -> None:
    """Move a package's files from `__clobbers__` to their own paths, and update the package's record at `path`."""
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
    """Return the files that the engine moved aside: their current paths, mapped to their paths in the package."""
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
    """Return the fields of a record; empty if the record cannot be read."""
    try:
        return records.read_all_fields(path)
    except records.UnreadableRecordError:
        return {}


def write_record(path: Path, document: Fields) -> None:
    """Write a record in conda's format."""
    write_text(path, _format_record(document), durable=False)


def _format_record(document: Fields) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _make_origin(package: CondaPackage) -> Fields:
    """Return a record's fields `channel` (with the subdirectory, as conda writes it) and `url`, each only if known."""
    channel = {"channel": f"{package.channel.rstrip('/')}/{package.subdir}"} if package.channel else {}
    return {**channel, **({"url": package.url} if package.url else {})}


def _set_requests(document: Fields, specs: list[str]) -> Fields:
    """Return a record with `specs` as the user's requests; without requests if `specs` is empty."""
    others = {key: value for key, value in document.items() if key not in ("requested_spec", "requested_specs")}
    return {**others, "requested_spec": specs[0], "requested_specs": specs} if specs else others


def resolve_linked_paths(paths: str, link: str, python: str) -> tuple[str, ...]:
    """Return the paths of the files that linking a package creates, relative to the prefix.

    Args:
        paths: the text of `info/paths.json`.
        link: the text of `info/link.json`; empty if the package has no such file.
        python: minor version of the environment's Python ("3.11", free-threaded "3.14t"); required only for a noarch
            Python package.

    Raises:
        FailedError: the package is damaged, or `python` is required but empty.
    """
    try:
        named = [str(each["_path"]) for each in json_data(paths)["paths"]]
        noarch = json_data(link).get("noarch", {}) if link.strip() else {}
        kind, entry_points = noarch.get("type"), list(map(str, noarch.get("entry_points", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FailedError(f"a package's list of files cannot be read: {error}") from error
    if kind != "python":
        return tuple(named)
    if not python:
        raise FailedError("a noarch Python package would be added, but the environment has no Python")
    found, compiled = [], []
    for path in named:
        place = re.sub(r"^site-packages/", f"lib/python{python}/site-packages/", path)
        place = re.sub(r"^python-scripts/", "bin/", place)
        found.append(place)
        directory, _, module = place.rpartition("/")
        if module.endswith(".py") and f"python{python}/site-packages" in directory:  # conda compiles these modules
            tag = python.replace(".", "").removesuffix("t")  # the cache tag of a free-threaded build has no "t"
            compiled.append(f"{directory}/__pycache__/{module.removesuffix('.py')}.cpython-{tag}.pyc")
    points = (point.partition("=")[0].strip() for point in entry_points)
    return (*found, *(f"bin/{point}" for point in points), *compiled)
