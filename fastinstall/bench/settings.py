"""Settings of the memory allocator that a loader can be started with: environment variables, and nothing else.

Large images are large blocks. glibc gives them back to the kernel when they are freed, and the kernel clears every
page again for the next image. Source: mallopt(3), and "Memory Allocation Tunables" of the glibc manual.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from fastinstall.model.immutable import immutable
from fastinstall.model.measured_machine import Machine

USUAL_PRIORITY = 1000
"""Of a candidate that says nothing of how much it helps: the less, the earlier one is measured."""

_TUNABLES = "GLIBC_TUNABLES"
_PRELOAD = "LD_PRELOAD"
_KEPT_BYTES = 1 << 30
_ALLOCATORS = {"jemalloc": ("libjemalloc.so*",), "tcmalloc": ("libtcmalloc_minimal.so*", "libtcmalloc.so*")}
_LIBRARIES = (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), Path("/usr/lib"), Path("/usr/local/lib"))


@immutable
class Setting:
    """Variables that a process is started with.

    Attributes:
        name: stable, in kebab case.
        title: for people.
        tunable: of glibc, "name=value"; empty for none.
        libc_version: the least glibc that knows it.
        huge_pages: whether the kernel has to allow transparent huge pages.
        plain: variables that are set as they are.
        preload: a library that takes the place of glibc's allocator; empty for none.
        priority: the less, the earlier it is measured.
    """

    name: str
    title: str
    tunable: str = ""
    libc_version: str = "2.0"
    huge_pages: bool = False
    plain: Mapping[str, str] = field(default_factory=dict)
    preload: str = ""
    priority: int = USUAL_PRIORITY


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="huge-pages",
        title="huge pages for large blocks (glibc)",
        tunable="glibc.malloc.hugetlb=1",
        libc_version="2.35",
        huge_pages=True,
        priority=40,
    ),
    Setting(
        name="malloc-keep",
        title="large blocks kept for the next image (glibc)",
        plain={
            "MALLOC_MMAP_THRESHOLD_": str(_KEPT_BYTES),
            "MALLOC_TRIM_THRESHOLD_": str(_KEPT_BYTES),
            "MALLOC_TOP_PAD_": str(64 << 20),
        },
    ),
)


def find_preloads(directories: Sequence[Path] = _LIBRARIES) -> Iterator[Setting]:
    """Other allocators that lie on this machine."""
    for name, patterns in _ALLOCATORS.items():
        found = [path for pattern in patterns for place in directories for path in sorted(place.glob(pattern))]
        if found:
            yield Setting(name=name, title=f"{name} in place of glibc's allocator", preload=str(found[0]))


def variables_of(setting: Setting, machine: Machine, variables: Mapping[str, str]) -> dict[str, str]:
    """What has to be set; what is set already is kept and added to. Nothing where it would change nothing.

    Args:
        setting: which one.
        machine: where.
        variables: the environment as it is.
    """
    if not machine.libc_version or _numbers(machine.libc_version) < _numbers(setting.libc_version):
        return {}
    if setting.huge_pages and machine.huge_pages in ("", "never"):
        return {}
    wanted = dict(setting.plain)
    if setting.tunable:
        wanted[_TUNABLES] = _joined(variables.get(_TUNABLES, ""), setting.tunable)
    if setting.preload:
        wanted[_PRELOAD] = _joined(variables.get(_PRELOAD, ""), setting.preload)
    return wanted if any(variables.get(name) != value for name, value in wanted.items()) else {}


def _joined(before: str, added: str) -> str:
    """Lists of both variables may be separated by colons; what is in them already is not added twice."""
    return before if added in before.split(":") else ":".join(each for each in (before, added) if each)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split(".")[:2] if each.isdigit())
