"""Requirement and constraint files, read as pip does: which entries would bring stock Pillow back."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.lockcheck.files import check_locks
from fastinstall.lockcheck.verdict import LockFinding

OURS = "13.0.0+simd.v2.v3"
WHEEL = f"pillow-{OURS}-cp311-cp311-manylinux_2_27_x86_64.whl"
CONTENT = b"a wheel"
OUR_HASH = f"--hash=sha256:{hashlib.sha256(CONTENT).hexdigest()}"
OTHER_HASH = f"--hash=sha256:{'0' * 64}"
Check = Callable[..., tuple[LockFinding, ...]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a function that judges a requirements.txt with this text; `others` are further files beside it."""

    def judged(text: str, **others: str) -> tuple[LockFinding, ...]:
        for name, content in {"requirements": text, **others}.items():
            (tmp_path / f"{name}.txt").write_text(content)
        (tmp_path / "wheels").mkdir()
        (tmp_path / "wheels" / WHEEL).write_bytes(CONTENT)
        return check_locks([tmp_path / "requirements.txt"]).findings

    return judged


@pytest.mark.parametrize(
    "text",
    [
        "pillow",
        "Pillow>=8  # any",
        "pillow[xmp]>=8,<14",
        "pillow~=13.0",
        "pillow==13.*",
        "pillow!=12.0.0",
        "pillow-heif==1.0.0\npillow_avif_plugin==1.5.2\nimageio==2.37.0",
        'pillow==13.0.0; sys_platform == "win32"',
        "pillow==13.0.0 ; platform_machine != 'x86_64'",
        "# pillow==13.0.0",
        "--index-url https://index.example.org/simple\n-i x\n--pre\n--only-binary=:all:",
        f"--find-links wheels\npillow=={OURS}",
        f"-f wheels\npillow=={OURS} {OUR_HASH}",
        "-fwheels\npillow==13.0.0",
        "--find-links=./wheels\nPillow == 13.0 \\\n    " + OUR_HASH,
        f"./wheels/{WHEEL}",
        f"wheels/{WHEEL}[xmp] {OUR_HASH}",
        f"pillow @ file:///srv/wheels/{WHEEL.replace('+', '%2B')}#sha256=00",
        f"pillow @ https://files.example.org/{WHEEL} ; python_version > '3.8'",
        "pillow==13.0.0  # fastinstall: stock",
        "# fastinstall: stock (Windows only)\npillow==13.0.0 \\\n    " + OTHER_HASH,
        "pillow==13.0.0 \\\n    --hash=sha256:00  # fastinstall: stock",
        "git+https://git.example.org/somebody/else@main#egg=else",
        "-e .\n-e ./pillow-tools\n.[test]\n../lib",
        "\ufeffimageio",
        "${EXTRA}\nimageio==2 ; ${MARKER}",
        "-f wheels\nnumpy=2.0.0=py311_0\npillow=13.0.0=simd_v3_py311_0\npillow=13.0.0+simd.v3=pypi_0",
        "https://files.example.org/pillow_heif-1.0.0-cp311-cp311-linux_x86_64.whl\nimageio@git+https://x.example.org/y",
    ],
)
def test_nothing_is_found_where_a_build_of_ours_can_stay(check: Check, text: str) -> None:
    assert check(text) == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("imageio\npillow==12.1.1", 2, "12.1.1 is stock Pillow"),
        ("Pillow===13.0.0", 1, "13.0.0 is stock Pillow"),
        ("PILLOW[xmp] == 13.0.0 ; python_version >= '3.8'", 1, "13.0.0 is stock Pillow"),
        ('pillow==13.0.0; sys_platform == "linux"', 1, "13.0.0 is stock Pillow"),
        ("# x\n\npillow \\\n  ==13.0.0 \\\n  # why\n", 3, "13.0.0 is stock Pillow"),
        ("imageio\npillow==12.1.1 \\", 2, "12.1.1 is stock Pillow"),
        ("pillow==13.0.0+cuda", 1, "13.0.0+cuda is stock Pillow"),
        (f"pillow>=13 {OTHER_HASH}", 1, "hashes"),
        (f"-f wheels\npillow==13.0.0 {OTHER_HASH}", 2, f"do not include the available fastinstall build ({OURS})"),
        (f"-f wheels\npillow=={OURS} {OTHER_HASH}", 2, "do not include the available"),
        ("-f wheels\npillow==12.1.1", 2, "12.1.1 is stock Pillow"),
        ("pillow @ https://files.example.org/pillow-13.0.0-cp311-cp311-linux_x86_64.whl", 1, "not a fastinstall build"),
        ("https://files.example.org/Pillow-9.5.0.tar.gz", 1, "not a fastinstall build"),
        ("git+https://git.example.org/python-pillow/Pillow.git@13.0.0", 1, "not a fastinstall build"),
        ("-e git+https://git.example.org/python-pillow/x#egg=pillow", 1, "not a fastinstall build"),
        ("pillow@https://files.example.org/pillow-13.0.0-cp311-cp311-linux_x86_64.whl", 1, "not a fastinstall build"),
        (
            "imageio=2.37.0=py_0\npillow=13.0.0=py311h07c5bb8_0",
            2,
            "the build py311h07c5bb8_0 is not a fastinstall build",
        ),
        ("pillow=13.0.0=pypi_0", 1, "13.0.0 is stock Pillow"),
        ("pillow-simd", 1, "overwrites the installed PIL"),
        ("Pillow_SIMD==9.5.0.post2", 1, "overwrites the installed PIL"),
        ("pillow==13.0.0  # fastinstall: stock\npillow-simd==9.5.0", 2, "overwrites the installed PIL"),
    ],
)
def test_what_would_bring_another_pillow_is_an_error(check: Check, text: str, line: int, words: str) -> None:
    (finding,) = check(text)
    assert (finding.status.value, finding.line) == ("error", line)
    assert words in finding.message
    assert finding.remedy.text


def test_the_remedy_builds_the_pinned_version_beside_the_file(check: Check, tmp_path: Path) -> None:
    (finding,) = check("pillow==12.1.1")
    assert finding.remedy.command == f"fastinstall build -o {tmp_path}/wheels --version 12.1.1"
    assert "--find-links wheels" in finding.remedy.text


def test_a_label_without_a_place_to_find_it_is_a_hint(check: Check) -> None:
    (finding,) = check(f"pillow=={OURS}")
    assert finding.status.value == "hint"


def test_a_finding_in_an_included_file_names_that_file_and_line(check: Check, tmp_path: Path) -> None:
    base = "--requirement requirements.txt\npillow\n"
    (finding,) = check("-r base.txt\n-c limits.txt\n", base=base, limits="\npillow==12.1.1")
    assert (finding.file, finding.line) == (tmp_path / "limits.txt", 2)


def test_a_constraint_to_our_build_makes_a_same_version_pin_safe(check: Check) -> None:
    found = check("-c limits.txt\npillow==13.0.0\n", limits=f"pillow=={OURS}\n--find-links wheels")
    assert found == ()


def test_a_constraint_to_our_build_does_not_excuse_another_pin(check: Check) -> None:
    (finding,) = check("-c limits.txt\npillow==12.1.1\n", limits=f"pillow=={OURS}\n--find-links wheels")
    assert "12.1.1 is stock Pillow" in finding.message


def test_another_version_is_fine_only_where_ours_does_not_apply(check: Check) -> None:
    marked = "pillow==13.1.0 ; python_version >= '3.12'\n"
    assert check(f"-f wheels\npillow=={OURS} ; python_version < '3.12'\n{marked}") == ()


def test_a_file_that_is_named_and_included_is_told_once(tmp_path: Path) -> None:
    one, other = tmp_path / "requirements.txt", tmp_path / "requirements-base.txt"
    one.write_text("-r requirements-base.txt")
    other.write_text("pillow==13.0.0")
    assert [each.file for each in check_locks([one, other]).findings] == [other]


@pytest.mark.parametrize("place", ["https://example.org/base.txt", "${BASE}/base.txt"])
def test_what_cannot_be_seen_from_here_is_told(check: Check, place: str) -> None:
    (finding,) = check(f"-r {place}")
    assert (finding.status.value, finding.excerpt) == ("hint", place)


def test_an_include_that_is_not_there_is_told_with_its_line(check: Check, golden: Golden) -> None:
    with pytest.raises(DocumentError, match=r"requirements\.txt: line 2: .*absent\.txt") as caught:
        check("imageio\n-r absent.txt")
    golden(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        *("<html>", "pillow = = 3", "pillow>=", "imageio 2.37.0", "pillow==1 2", "pillow==2024d", "imageio>=2.*"),
        *("imageio=>2", "imageio==2 ; python_versio > '3'", "imageio[x", "imageio=2", "-e"),
    ],
)
def test_a_line_that_pip_could_not_read_is_a_finding(check: Check, tmp_path: Path, text: str) -> None:
    found = check(f"imageio\n{text}\npillow-simd\n")
    assert [(each.file, each.line, each.status.value) for each in found] == [
        (tmp_path / "requirements.txt", 3, "error"),
        (tmp_path / "requirements.txt", 2, "error"),
    ]
    assert text.startswith(found[1].excerpt)
    assert "pip rejects" in found[1].message


def test_it_refuses_what_packaging_refuses_and_nothing_else(check: Check) -> None:
    kept = "imageio (>=2)\nimageio==2.*,!=2.1\nimageio@https://x.example.org/i.zip\nimageio===2024d\nimageio>=2,\n"
    assert check(kept) == ()


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_bytes(b"pillow\xff")
    with pytest.raises(DocumentError, match=r"requirements\.txt: byte 6"):
        check_locks([file])


def test_what_powershell_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_bytes("imageio\r\npillow==12.1.1\r\n".encode("utf-16"))
    assert [each.line for each in check_locks([file]).findings] == [2]


def test_a_file_that_is_not_there_or_a_directory_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "requirements.txt", tmp_path):
        with pytest.raises(UsageError, match=str(path)):
            check_locks([path])
