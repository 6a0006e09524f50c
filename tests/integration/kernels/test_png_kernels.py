"""Our kernels read PNG files as Pillow does, including truncated and invalid ones, and write the same rows."""

import json
from pathlib import Path

import pytest
from integration.kernels.builds import KernelsBuild, run_script
from support.machine.addresses import fixed_addresses
from support.suite import extent

from fastinstall.proof.runs import ProofStack

PLACE = "src/libImaging"


@pytest.fixture(scope="module")
def saved(build: KernelsBuild) -> list[str]:
    """Return the output of the script that saves PNG files, with the official wheel."""
    return run(build.reference, "png_saved.py")


@pytest.fixture(scope="module")
def loaded(build: KernelsBuild) -> list[str]:
    """Return the output of the script that reads PNG files, with the official wheel."""
    return run(build.reference, "png_loaded.py")


def run(stack: ProofStack, script: str, *arguments: str) -> list[str]:
    """Return the lines that a script prints."""
    return run_script(stack, script, *arguments, ASAN_OPTIONS="detect_leaks=0", UBSAN_OPTIONS="halt_on_error=1")


def test_saved_rows_are_those_of_pillow(ours: ProofStack, saved: list[str]) -> None:
    assert run(ours, "png_saved.py") == saved


def test_files_are_as_small_as_those_of_pillow(build: KernelsBuild, ours: ProofStack, tmp_path: Path) -> None:
    found, expected = (
        [int(line.rsplit(" ", 1)[1]) for line in run(stack, "png_saved.py", str(tmp_path)) if "parts" in line]
        for stack in (ours, build.reference)
    )
    assert sum(found) <= 1.02 * sum(expected)
    assert [pair for pair in zip(found, expected, strict=True) if pair[0] > 1.1 * pair[1]] == []


def test_other_threads_run_while_a_picture_is_saved(ours: ProofStack) -> None:
    assert json.loads(run(ours, "runs_meanwhile.py")[0])["save PNG"]


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"to_b <= to_c \? b : c", "to_b < to_c ? b : c"),
        (r"deflateSetDictionary\(stream, bytes \+ size - FI_PNG_SAVE_WINDOW, FI_PNG_SAVE_WINDOW\)", "0"),
        (r"sum >= cost", "sum > cost"),
        (r"remaining < FI_PNG_SAVE_LEAST_ROOM", "0"),
    ],
    ids=["between equally near ones", "zlib's window after runs", "between equal sums", "a flush in little room"],
)
def test_a_fault_of_saved_rows_shows(
    pattern: str, replacement: str, build: KernelsBuild, saved: list[str], tmp_path: Path
) -> None:
    source = build.changed(tmp_path.name, f"{PLACE}/png-save.h", pattern, replacement)
    assert run(build.stack(f"{tmp_path.name}-run", source), "png_saved.py") != saved


def test_loaded_files_are_those_of_pillow_cut_and_wrong_ones_too(ours: ProofStack, loaded: list[str]) -> None:
    assert run(ours, "png_loaded.py") == loaded


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    extent.every_second(
        (
            pytest.param("tail = FI_PNG_LOAD_TAIL;", "tail = 0;", id="no tail"),
            pytest.param(r"err == Z_STREAM_END && count && !rest", "0", id="no early end"),
            pytest.param(r"!rest && !fi_png_is_taken\(stream, err\)", "0", id="no lost row"),
            pytest.param("invalid distance too far back", "another error", id="no late error"),
            pytest.param(r"count && !rest && stream->avail_in == 0", "0", id="no look ahead"),
            pytest.param(r"to_b > to_c, by_c", "to_b >= to_c, by_c", id="between equally near ones"),
        )
    ),
)
def test_a_fault_of_loaded_files_shows(
    pattern: str, replacement: str, build: KernelsBuild, loaded: list[str], tmp_path: Path
) -> None:
    source = build.changed(tmp_path.name, f"{PLACE}/png-load.h", pattern, replacement)
    assert run(build.stack(f"{tmp_path.name}-run", source), "png_loaded.py") != loaded


@pytest.mark.parametrize(("file", "script"), [("ZipEncode", "png_saved.py"), ("ZipDecode", "png_loaded.py")])
def test_no_byte_beside_rows_and_files_is_touched(
    file: str, script: str, build: KernelsBuild, request: pytest.FixtureRequest
) -> None:
    expected = request.getfixturevalue(script.removeprefix("png_").removesuffix(".py"))
    same = build.changed(f"reviewed-{file}", f"{PLACE}/{file}.c", r"\Z", "/* compiled again */\n")
    sanitized = build.sanitized(f"sanitized-{file}", same)
    with fixed_addresses():
        assert run(sanitized, script) == expected
