"""Records in `conda-meta`: read installed ones, and correct those that an engine just wrote.

What linking a conda package brings is read from its `info` directory. Source: CEP 34 (formerly conda-build's docs).

A channel with an index and no packages shows the solver a package before it is made.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastinstall.conda.history_file import make_requested_spec
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError
from fastinstall.core.files import write_text
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import public_text
from fastinstall.index.offers import local_path
from fastinstall.model.conda import CondaChange, CondaPackage

Record = dict[str, Any]
_HARD_LINKED = 1


def read_records(prefix: Path) -> dict[str, Record]:
    """What the records of an environment say, by the packages' names; those that cannot be read are left out."""
    documents = (_read_record(path) for path in sorted((prefix / "conda-meta").glob("*.json")))
    return {str(document["name"]): document for document in documents if document.get("name")}


def package_of(document: Mapping[str, Any]) -> CondaPackage:
    """The package of a record, or of an entry in a channel's index."""
    return CondaPackage(
        name=str(document.get("name", "")),
        version=str(document.get("version", "")),
        build=str(document.get("build") or document.get("build_string") or ""),
        build_number=_parse_number(document.get("build_number")),
        subdir=str(document.get("subdir") or ""),
        channel=_parse_channel(document),
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
        document = _read_record(path)
        if not document:
            raise FailedError(f"{package.dist}: the engine linked it and wrote no record at {path}")
        _refuse_traces(scratch, document)
        spec = make_requested_spec(package)
        settled = _set_requests({**document, **_make_origin(package), **_make_source(package)}, [spec] if spec else [])
        _write_record(path, _rename_value(settled, scratch, prefix))


def finalize_changed_records(prefix: Path, change: CondaChange, before: Mapping[str, Record]) -> None:
    """Record as the user's requests what was one before an engine's explicit work, and see that all came and went.

    Raises:
        FailedError: the environment is not what was asked for.
    """
    now = read_records(prefix)
    for package in change.linked:
        document = now.get(package.name, {})
        if package_of(document).dist != package.dist or _is_different(document, package):
            raise FailedError(f"{prefix}: {package.dist} was to be installed, and is not")
        settled = _set_requests({**document, **_make_origin(package)}, _list_requests(before.get(package.name, {})))
        _write_record(prefix / "conda-meta" / package.record, settled)
    left = {package.name for package in change.unlinked} - {package.name for package in change.linked}
    for name in sorted(left & now.keys()):
        raise FailedError(f"{prefix}: {name} was to be removed, and is there")


def hide_credentials(prefix: Path) -> None:
    """Take what a channel was asked with out of the records of an environment."""
    for path in sorted((prefix / "conda-meta").glob("*.json")):
        document = _read_record(path)
        shown = {key: public_text(str(document[key])) for key in ("channel", "url") if document.get(key)}
        if {**document, **shown} != document:
            _write_record(path, {**document, **shown})


def _read_record(path: Path) -> Record:
    try:
        document = json_data(foreign.read_text(path))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _write_record(path: Path, document: Record) -> None:
    write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n", durable=False)


def _parse_number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _parse_channel(document: Mapping[str, Any]) -> str:
    channel = public_text(str(document.get("channel") or "")).rstrip("/")
    return channel.removesuffix(f"/{document.get('subdir')}")


def _make_origin(package: CondaPackage) -> Record:
    """Channel with subdirectory, as conda writes it, and URL."""
    channel = {"channel": f"{package.channel.rstrip('/')}/{package.subdir}"} if package.channel else {}
    return {**channel, **({"url": package.url} if package.url else {})}


def _make_source(package: CondaPackage) -> Record:
    """Where its file lies, and where it would be unpacked: what the engine unpacked for the time being is gone."""
    file = local_path(package.url)
    if file is None:
        return {}
    unpacked = str(file.with_name(package.dist))
    link = {"source": unpacked, "type": _HARD_LINKED}
    return {"package_tarball_full_path": str(file), "extracted_package_dir": unpacked, "link": link}


def _list_requests(document: Mapping[str, Any]) -> list[str]:
    one = document.get("requested_spec")
    return list(document.get("requested_specs") or ([one] if one else []))


def _set_requests(document: Record, specs: list[str]) -> Record:
    """The record with these as what the user asked for."""
    others = {key: value for key, value in document.items() if key not in ("requested_spec", "requested_specs")}
    return {**others, "requested_spec": specs[0], "requested_specs": specs} if specs else others


def _is_different(document: Mapping[str, Any], package: CondaPackage) -> bool:
    return bool(package.sha256 and document.get("sha256") and document["sha256"] != package.sha256)


def _refuse_traces(scratch: Path, document: Mapping[str, Any]) -> None:
    """Files in which the prefix was written must name the environment."""
    paths = document.get("paths_data", {}).get("paths", ())
    for entry in paths:
        if entry.get("prefix_placeholder") and bytes(scratch) in (scratch / entry["_path"]).read_bytes():
            raise FailedError(f"{entry['_path']}: names {scratch}, where it was only linked for the time being")


def _rename_value(value: Any, scratch: Path, prefix: Path) -> Any:  # noqa: ANN401 (any JSON)
    if isinstance(value, dict):
        return {key: _rename_value(item, scratch, prefix) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_value(item, scratch, prefix) for item in value]
    return value.replace(str(scratch), str(prefix)) if isinstance(value, str) else value


_SITE = "site-packages/"
_SCRIPTS = "python-scripts/"


def resolve_linked_paths(paths: str, link: str, python: str) -> tuple[str, ...]:
    """Paths relative to a prefix.

    Args:
        paths: the text of `info/paths.json`.
        link: the text of `info/link.json`; empty if there is none.
        python: minor version of the environment's Python ("3.11"), for a noarch package of Python.

    Raises:
        FailedError: the package is damaged, or Python's version is needed and not given.
    """
    named = tuple(str(each["_path"]) for each in _parse_document(paths).get("paths", ()))
    noarch = _parse_document(link).get("noarch", {}) if link.strip() else {}
    if noarch.get("type") != "python":
        return named
    if not python:
        raise FailedError("a noarch package of Python comes, and the environment has no Python")
    points = tuple(str(point).partition("=")[0].strip() for point in noarch.get("entry_points", ()))
    mapped = tuple(_map_path(path, python) for path in named)
    return (*mapped, *(f"bin/{point}" for point in points), *_list_bytecode(mapped, python))


def _parse_document(text: str) -> dict[str, Any]:
    try:
        found = json_data(text)
    except ValueError as error:
        raise FailedError(f"a package's list of files cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _map_path(path: str, python: str) -> str:
    if path.startswith(_SITE):
        return f"lib/python{python}/{path}"
    return f"bin/{path.removeprefix(_SCRIPTS)}" if path.startswith(_SCRIPTS) else path


def _list_bytecode(paths: tuple[str, ...], python: str) -> Iterator[str]:
    """The bytecode that conda compiles of modules."""
    tag = python.replace(".", "")
    for path in paths:
        directory, _, module = path.rpartition("/")
        if module.endswith(".py") and f"python{python}/site-packages" in directory:
            yield f"{directory}/__pycache__/{module.removesuffix('.py')}.cpython-{tag}.pyc"


_SUBDIRS = ("linux-64", "noarch")
_NO_SHA256 = "0" * 64
_NO_MD5 = "0" * 32


def write_offered_channel(packages: Sequence[CondaPackage], cache: Path) -> str:
    """Write the index of a channel that offers these packages.

    Its place follows from its content: engines keep what they have read of a channel.

    Returns:
        The channel's URL.
    """
    indices = {subdir: _make_index(subdir, packages) for subdir in _SUBDIRS}
    content = json.dumps(indices, sort_keys=True)
    channel = cache / "offered" / hashlib.sha256(content.encode()).hexdigest()[:16]
    for subdir, index in indices.items():
        write_text(channel / subdir / "repodata.json", json.dumps(index), durable=False)
    return channel.absolute().as_uri()


def make_file_name(package: CondaPackage) -> str:
    """The package's file in a channel of ours."""
    return f"{package.dist}.conda"


def _make_index(subdir: str, packages: Sequence[CondaPackage]) -> dict[str, Any]:
    entries = {make_file_name(each): _make_entry(each) for each in packages if (each.subdir or "linux-64") == subdir}
    return {"info": {"subdir": subdir}, "packages": {}, "packages.conda": entries, "repodata_version": 1}


def _make_entry(package: CondaPackage) -> dict[str, Any]:
    noarch = {"noarch": "generic"} if package.subdir == "noarch" else {}
    return {
        **package.index,
        "subdir": package.subdir or "linux-64",
        "sha256": package.sha256 or _NO_SHA256,
        "md5": _NO_MD5,
        "size": 0,
        **noarch,
    }
