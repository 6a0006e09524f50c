"""Whether an entry is for the machines that a stack can be on: Linux on x86-64. Pure."""

_OF_PLATFORMS = ("sys_platform", "platform_", "os_name")
_LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))


def matters(marker: str) -> bool:
    """Whether a marker may hold on Linux on x86-64, with any Python; one that cannot be read hides nothing."""
    if not any(word in marker for word in _OF_PLATFORMS) or "extra" in marker or "dependency_groups" in marker:
        return True
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 (slow, and rarely needed)

    try:
        read = Marker(marker)
    except InvalidMarker:
        return True
    return any(read.evaluate({**_LINUX, "python_version": python, **_full(python)}) for python in _PYTHONS)


def _full(python: str) -> dict[str, str]:
    return {"python_full_version": f"{python}.0", "implementation_version": f"{python}.0"}
