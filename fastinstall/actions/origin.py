"""What a wheel of ours says of its own making, read from the staged tree: so that it is known wherever it was made."""

from pathlib import Path

from fastinstall.build.label import PROVENANCE_FILE
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.system import foreign


@immutable
class Origin:
    """What was merged.

    Attributes:
        kernels: the fork ("pillow-simd 12.1.1.post0"); empty where nothing was merged, or nothing is said.
        left_out: parts of it that were left out.
    """

    kernels: str = ""
    left_out: tuple[str, ...] = ()


def origin_of(stage: Path, metadata: str) -> Origin:
    """Read it; a wheel without the statement, or with one of another kind, says nothing.

    Args:
        stage: the staged tree.
        metadata: name of its `.dist-info` directory.
    """
    try:
        said = json_data(foreign.read_text(stage / metadata / PROVENANCE_FILE))
        kernels = said["kernels"]
        label = f"{kernels['name']} {kernels['version']}" if kernels else ""
        return Origin(kernels=label, left_out=tuple(map(str, said["without"])))
    except (OSError, ValueError, KeyError, TypeError):
        return Origin()
