"""Make a labelled variant of a finished wheel: the same files, with the version that they share. Experimental."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from fastinstall.build.label import SBOM_FILE, rewritten
from fastinstall.build.wheel import metadata_directory, pack_wheel, unpack_wheel
from fastinstall.rules.wheel_variants import FILE, Variant, metadata_of
from fastinstall.system import files


def label_variant(wheel: Path, version: str, variant: Variant, directory: Path) -> Path:
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
        _rewrite(metadata / "METADATA", lambda text: rewritten(text, {"Version": version}))
        _rewrite(metadata / SBOM_FILE, lambda text: text.replace(own, version).replace(quote(own), quote(version)))
        files.write_text(metadata / FILE, metadata_of((variant,)), durable=False)
        labelled = directory / f"{'-'.join((name, version, *tags, variant.label))}.whl"
        directory.mkdir(parents=True, exist_ok=True)
        pack_wheel(tree, labelled)
    return labelled


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    if path.is_file():
        files.write_text(path, change(path.read_text(encoding="utf-8")), durable=False)
