"""What bounds the loading of images, beside the processor: looked at only where something is installed that trains."""

from collections.abc import Sequence

from fastinstall.model.facts import Distribution, LoadingFacts
from fastinstall.rules.checks._loading_packages import frameworks_of


def observe_loading(distributions: Sequence[Distribution], tunables: str) -> LoadingFacts | None:
    """Read how memory is allocated for training, or return None if no training framework is installed.

    Args:
        distributions: what is installed in the target.
        tunables: the variable GLIBC_TUNABLES, as the target's programs get it.
    """
    if not frameworks_of(distributions):
        return None
    from fastinstall.probes.machine import huge_pages  # noqa: PLC0415 (most environments need none of it)

    return LoadingFacts(huge_pages=huge_pages(), tunables=tunables)
