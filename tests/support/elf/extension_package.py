"""A distribution that brings extensions, made in a directory as an installer would leave it there."""

from collections.abc import Mapping
from pathlib import Path


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
