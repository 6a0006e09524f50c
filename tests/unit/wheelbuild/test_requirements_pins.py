from fastinstall.core.directories import tool_requirements
from fastinstall.wheelbuild.requirements import list_pins

LOCK = """\
# written by uv
everywhere==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via tool
backport==2 ; python_full_version < '3.13' \\
    --hash=sha256:cc
    # via
    #   everywhere
    #   tool
elsewhere==3 ; sys_platform == 'win32' \\
    --hash=sha256:dd
simd[extra]==4 ; platform_machine == 'x86_64' \\
    --hash=sha256:ee
"""


def test_a_pin_keeps_its_hashes_and_loses_comments() -> None:
    assert next(list_pins(LOCK, "3.13", "aarch64")) == "everywhere==1.0 --hash=sha256:aa --hash=sha256:bb"


def test_markers_are_those_of_the_wanted_python_and_machine() -> None:
    def names(minor: str, machine: str) -> list[str]:
        return [pin.partition("==")[0] for pin in list_pins(LOCK, minor, machine)]

    assert names("3.12", "x86_64") == ["everywhere", "backport", "simd"]
    assert names("3.13", "x86_64") == ["everywhere", "simd"]
    assert names("3.13", "aarch64") == ["everywhere"]


def test_the_lock_that_comes_with_fastinstall_can_be_read() -> None:
    lock = tool_requirements().read_text(encoding="utf-8")
    pins = [list(list_pins(lock, minor, "x86_64")) for minor in ("3.11", "3.14")]
    assert all("==" in pin and "--hash=sha256:" in pin for python in pins for pin in python)
    assert [any(pin.startswith("backports-zstd==") for pin in python) for python in pins] == [True, False]
