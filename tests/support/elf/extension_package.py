"""A distribution that brings extensions, made in a directory as an installer would leave it there."""

from collections.abc import Mapping
from pathlib import Path

LICENCES = '''\
"""Looks whether the environment says who may use it."""

from fastinstall.model.finding import Finding, Remedy, Status

NAME = "licences"
SUMMARY = "Whether the environment says who may use it."
ORDER = 500
VERIFIES_SETUP = True


def check(context):
    prefix = context.facts.environment.prefix
    yield Finding(
        check=NAME,
        status=Status.HINT,
        message=f"nobody has said who may use {prefix}",
        remedy=Remedy(text="write a LICENCE"),
    )
'''


def make_distribution(
    directory: Path, name: str, *, files: Mapping[str, str], points: Mapping[str, Mapping[str, str]]
) -> Path:
    """Put version 1.0 of a distribution into a directory that is, or comes, on the path.

    Args:
        directory: as site-packages is one.
        name: of the distribution.
        files: texts of its files, by path.
        points: of each group of entry points, modules by name.
    """
    metadata = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    declared = "\n".join(
        "\n".join((f"[{group}]", *(f"{point} = {module}" for point, module in named.items()), ""))
        for group, named in points.items()
    )
    texts = {
        **files,
        f"{metadata.name}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{metadata.name}/entry_points.txt": declared,
    }
    for path, text in texts.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return directory


def make_check(directory: Path, text: str = LICENCES, point: str = "licences", name: str = "acme-checks") -> Path:
    """Put a distribution with one check there."""
    module = f"{name.replace('-', '_')}_{point.replace('-', '_')}"
    return make_distribution(
        directory, name, files={f"{module}.py": text}, points={"fastinstall.checks": {point: module}}
    )
