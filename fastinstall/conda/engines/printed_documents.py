"""What conda prints with `--json`: one document, several, warnings and progress in between, or nothing at all."""

import json
from typing import Any

from fastinstall.conda.engines.linked_records import package_from_record
from fastinstall.model.conda import CondaChange, CondaPackage

Document = dict[str, Any]


_DECODER = json.JSONDecoder()


def parse_documents(text: str) -> tuple[Document, ...]:
    """Parse every JSON object in an output, whatever stands around it.

    >>> parse_documents('warning {"success": true} done {"actions": {}}')
    ({'success': True}, {'actions': {}})
    """
    found: list[Document] = []
    position = text.find("{")
    while position >= 0:
        try:
            document, end = _DECODER.raw_decode(text, position)
            found.append(document)
        except ValueError:
            end = position + 1
        position = text.find("{", end)
    return tuple(found)


def find_error(documents: tuple[Document, ...]) -> Document | None:
    """Return the document that tells of a failure."""
    failures = (each for each in documents if "exception_name" in each or each.get("error"))
    return next((each for each in failures if each.get("exception_name") != "DryRunExit"), None)


def parse_actions(documents: tuple[Document, ...]) -> CondaChange:
    """Parse the last reported transaction; packages that go have their name, version and build alone."""
    told: Document = next(
        (each["actions"] for each in reversed(documents) if isinstance(each.get("actions"), dict)), {}
    )
    fetched, linked, unlinked = (
        [_parse_package(entry) for entry in told.get(kind) or () if isinstance(entry, dict) and entry.get("name")]
        for kind in ("FETCH", "LINK", "UNLINK")
    )
    whole = {package.dist: package for package in fetched}
    return CondaChange(linked=tuple(whole.get(each.dist, each) for each in linked), unlinked=tuple(unlinked))


def _parse_package(entry: Document) -> CondaPackage:
    channel = {"channel": entry["base_url"]} if entry.get("base_url") else {}
    return package_from_record({"subdir": entry.get("platform"), **entry, **channel})
