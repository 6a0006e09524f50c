"""Wheel variants: wheels of one version that differ in their CPU level, told apart by a label. Experimental.

A finished wheel is labelled as a variant with the same files and version.

The format is that of PEP 825, a draft, in its version 0.1.1, which uv 0.13 reads (`--preview-features wheel-variants`).
Which CPU has which level is not part of it: the installer has to know by a provider of the namespace "x86_64".
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from fastinstall.core import files
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.wheelbuild.wheel_files import (
    SBOM_FILE,
    metadata_directory,
    pack_wheel,
    replace_metadata_fields,
    unpack_wheel,
)

NULL = "null"
"""The label of the variant that runs everywhere."""

FILE = "variant.json"
"""In `.dist-info` of a labelled wheel."""

_SCHEMA = "https://variants-schema.wheelnext.dev/peps/825/v0.1.1.json"
_NAMESPACE = "x86_64"
_LABEL = re.compile(r"[0-9a-z_.]{1,16}")
_PREFIX = "x86-64-"

Properties = Mapping[str, Mapping[str, list[str]]]
"""Values by feature by namespace."""


@immutable
class WheelVariant:
    """A variant of a version.

    Attributes:
        label: at the end of the name of its wheels.
        properties: what the machine has to have; nothing for `NULL`.
    """

    label: str
    properties: Properties


def variant_of(level: str | None) -> WheelVariant:
    """The variant for a CPU level ("x86-64-v3"), or for every CPU."""
    if level is None:
        return WheelVariant(label=NULL, properties={})
    number = level.removeprefix(_PREFIX)
    return WheelVariant(label=f"{_NAMESPACE}_{number}", properties={_NAMESPACE: {"level": [number]}})


def split_label(filename: str) -> tuple[str, str]:
    """Split a wheel's name from its variant label, which is "" if there is none.

    Returns:
        ("pillow-13.0.0-cp311-cp311-linux_x86_64.whl", "x86_64_v3") for such a wheel with that label.
    """
    parts = filename.removesuffix(".whl").split("-")
    has_label = len(parts) > 5 and not parts[2][:1].isdigit() and _LABEL.fullmatch(parts[-1])  # noqa: PLR2004 (PEP 427)
    has_label = has_label or (len(parts) > 6 and _LABEL.fullmatch(parts[-1]))  # noqa: PLR2004 (with a build tag)
    return ("-".join(parts[:-1]) + ".whl", parts[-1]) if has_label else (filename, "")


def metadata_of(variants: Iterable[WheelVariant]) -> str:
    """The document of some variants: `variant.json` of one, or that of an index for all of a version."""
    described = {variant.label: variant.properties for variant in sorted(variants, key=lambda each: each.label)}
    document = {"$schema": _SCHEMA, "default-priorities": {"namespace": [_NAMESPACE]}, "variants": described}
    return json.dumps(document, indent=2) + "\n"


def read_variant(text: str, label: str) -> WheelVariant:
    """The variant that `variant.json` of a wheel describes.

    Raises:
        ValueError: it is of another version of the format, or does not describe the one of that label.
    """
    document = json_data(text)
    if not isinstance(document, dict) or document.get("$schema") != _SCHEMA:
        raise ValueError(f"it is not of the schema {_SCHEMA}")
    described = document.get("variants")
    if not isinstance(described, dict) or set(described) != {label}:
        raise ValueError(f"it does not describe the variant {label!r}, which the name of the wheel tells")
    return WheelVariant(label=label, properties=described[label])


def index_file(name: str, version: str) -> str:
    """The name of the file that tells an index's variants of a version."""
    return f"{re.sub(r'[-_.]+', '_', name).lower()}-{version.replace('-', '_')}-variants.json"


def label_variant(wheel: Path, version: str, variant: WheelVariant, directory: Path) -> Path:
    """Pack a wheel again as a variant of a version (PEP 825).

    Args:
        wheel: the finished one.
        version: that all variants share; the label of the wheel's own tells its level, which the variant's does here.
        variant: what it becomes.
        directory: where the labelled wheel is put.

    Raises:
        FailedError: the wheel is damaged.
    """
    name, own, *tags = wheel.name.removesuffix(".whl").split("-")
    with files.temporary_directory("variant") as space:
        tree = space / "tree"
        unpack_wheel(wheel, tree)
        metadata = metadata_directory(tree).rename(tree / f"{name}-{version}.dist-info")
        _rewrite(metadata / "METADATA", lambda text: replace_metadata_fields(text, {"Version": version}))
        _rewrite(metadata / SBOM_FILE, lambda text: text.replace(own, version).replace(quote(own), quote(version)))
        files.write_text(metadata / FILE, metadata_of((variant,)), durable=False)
        labelled = directory / f"{'-'.join((name, version, *tags, variant.label))}.whl"
        directory.mkdir(parents=True, exist_ok=True)
        pack_wheel(tree, labelled)
    return labelled


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    if path.is_file():
        files.write_text(path, change(path.read_text(encoding="utf-8")), durable=False)
