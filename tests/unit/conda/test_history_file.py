"""The history that conda's solvers read."""

from datetime import datetime

from fastinstall.conda.history_file import append_revision, make_requested_spec, remove_history_requests
from fastinstall.model.conda import CondaChange, CondaPackage

STACK = CondaPackage(
    name="pillow", version="13.0.0", build="simd_v3_py311_0", subdir="linux-64", channel="file:///env/share/channel"
)
GUARD = CondaPackage(
    name="fastinstall-guard", version="1.0", build="0", subdir="noarch", channel="file:///env/share/channel"
)
OLD = CondaPackage(name="pillow", version="12.1.1", build="py311h1234567_0", subdir="linux-64", channel="elsewhere")
AT = datetime(2026, 11, 21, 20, 1, 29)  # noqa: DTZ001 (conda writes local time)
FIRST = """\
==> 2026-01-02 03:04:05 <==
# cmd: conda create -p /env pillow
# conda version: 24.7.1
+conda-forge/linux-64::pillow-12.1.1-py311h1234567_0
+conda-forge/noarch::puretool-1.0-pyh_0
# update specs: ['pillow=12.1.1']
"""
SECOND = """\
==> 2026-11-21 20:01:29 <==
# cmd: fastinstall setup --yes
-conda-forge/linux-64::pillow-12.1.1-py311h1234567_0
+file:///env/share/channel/linux-64::pillow-13.0.0-simd_v3_py311_0
+file:///env/share/channel/noarch::fastinstall-guard-1.0-0
# update specs: ['pillow[build=simd_*]', 'fastinstall-guard']
"""


def test_a_revision_names_removed_packages_as_the_history_did() -> None:
    change = CondaChange(linked=(STACK, GUARD), unlinked=(OLD,))
    assert append_revision(FIRST, AT, "fastinstall setup --yes", change) == FIRST + SECOND


def test_a_history_without_package_or_last_newline_is_continued() -> None:
    written = append_revision("==> 2026-01-02 03:04:05 <==", AT, "x", CondaChange(unlinked=(OLD,)))
    assert written.splitlines()[0] == "==> 2026-01-02 03:04:05 <=="
    assert "-elsewhere/linux-64::pillow-12.1.1-py311h1234567_0\n" in written
    assert "# remove specs: ['pillow']\n" in written
    assert append_revision("", AT, "x", CondaChange()).startswith("==> 2026-11-21 20:01:29 <==\n")


def test_a_package_removed_earlier_is_not_taken_as_installed() -> None:
    again = FIRST + "==> 2026-02-02 03:04:05 <==\n-conda-forge/linux-64::pillow-12.1.1-py311h1234567_0\n"
    written = append_revision(again, AT, "x", CondaChange(unlinked=(OLD,)))
    assert "-elsewhere/linux-64::pillow-12.1.1-py311h1234567_0" in written


def test_only_packages_of_ours_are_requests() -> None:
    assert make_requested_spec(STACK) == "pillow[build=simd_*]"
    assert make_requested_spec(GUARD) == "fastinstall-guard"
    assert make_requested_spec(OLD) == ""


def test_explicit_work_adds_no_requests_and_forgets_none() -> None:
    added = """\
==> 2026-11-21 20:01:29 <==
# cmd: conda remove --force jpeg pillow
-conda-forge/linux-64::jpeg-9e-h0_0
# remove specs: ['jpeg', 'conda-forge::pillow=12']
==> 2026-11-21 20:01:30 <==
+conda-forge/linux-64::jpeg-9e-h0_0
# update specs: ['conda-forge/linux-64::jpeg==9e=h0_0[md5=0123]']
"""
    left = remove_history_requests(FIRST, FIRST + added, ["jpeg"])
    assert left.startswith(FIRST)
    assert [line for line in left[len(FIRST) :].splitlines() if "specs" in line] == [
        "# remove specs: ['conda-forge::pillow=12']"
    ]
    assert "specs" not in remove_history_requests(FIRST, FIRST + added, ["jpeg", "pillow"])[len(FIRST) :]


def test_a_history_that_was_rewritten_meanwhile_is_left_alone() -> None:
    assert remove_history_requests(FIRST, "another one\n", ["jpeg"]) == "another one\n"
