"""Records in `conda-meta`: read installed ones, and correct those that an engine just wrote."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fastinstall.conda.history_file import make_requested_spec
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError
from fastinstall.core.files import write_text
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import public_text
from fastinstall.index.locations import local_path
from fastinstall.model.conda import CondaChange, CondaPackage

Record = dict[str, Any]


def read_linked_records(prefix: Path) -> dict[str, Record]:
    """Read the records of an environment, by the packages' names; unreadable ones are left out."""
    documents = (read_linked_record(path) for path in sorted((prefix / "conda-meta").glob("*.json")))
    return {str(document["name"]): document for document in documents if document.get("name")}


def package_from_record(document: Mapping[str, Any]) -> CondaPackage:
    """Return the package of a record, or of an entry in a channel's index."""
    number, subdir = str(document.get("build_number")), str(document.get("subdir") or "")
    channel = public_text(str(document.get("channel") or "")).rstrip("/")
    return CondaPackage(
        name=str(document.get("name", "")),
        version=str(document.get("version", "")),
        build=str(document.get("build") or document.get("build_string") or ""),
        build_number=int(number) if number.isdecimal() else 0,
        subdir=subdir,
        channel=channel.removesuffix(f"/{document.get('subdir')}"),
        url=public_text(str(document.get("url") or "")),
        sha256=str(document.get("sha256") or ""),
        depends=tuple(map(str, document.get("depends") or ())),
        constrains=tuple(map(str, document.get("constrains") or ())),
    )


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


def finalize_changed_records(prefix: Path, change: CondaChange, before: Mapping[str, Record]) -> None:
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


def hide_credentials(prefix: Path) -> None:
    """Take what a channel was asked with out of the records of an environment."""
    for path in sorted((prefix / "conda-meta").glob("*.json")):
        document = read_linked_record(path)
        shown = {key: public_text(str(document[key])) for key in ("channel", "url") if document.get(key)}
        if {**document, **shown} != document:
            write_record(path, {**document, **shown})


def read_linked_record(path: Path) -> Record:
    """Read a record; return an empty one if it cannot be read."""
    try:
        return parse_record(foreign.read_bytes(path))
    except OSError:
        return {}


def parse_record(text: str | bytes) -> Record:
    """Parse the text of a record; return an empty one if it is none."""
    try:
        document = json_data(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def write_record(path: Path, document: Record) -> None:
    """Write a record as conda does."""
    write_text(path, _format_record(document), durable=False)


def _format_record(document: Record) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _make_origin(package: CondaPackage) -> Record:
    """Return channel with subdirectory, as conda writes it, and URL."""
    channel = {"channel": f"{package.channel.rstrip('/')}/{package.subdir}"} if package.channel else {}
    return {**channel, **({"url": package.url} if package.url else {})}


def _set_requests(document: Record, specs: list[str]) -> Record:
    """Return the record with these as what the user asked for."""
    others = {key: value for key, value in document.items() if key not in ("requested_spec", "requested_specs")}
    return {**others, "requested_spec": specs[0], "requested_specs": specs} if specs else others
