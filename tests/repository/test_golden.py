from pathlib import Path

import pytest
from support.suite import golden
from support.suite.golden import Golden, find_stale_keys, read_golden

MODULE = """
def test_says(golden):
    golden(text)
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a separate test suite with one test, and return the path of its file."""
    monkeypatch.setattr(golden, "TESTS", tmp_path)
    monkeypatch.setattr(golden, "DIRECTORY", tmp_path / "golden")
    module = tmp_path / "unit" / "plan" / "test_plan.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE, "utf-8")
    return module


def make(module: Path, *, renews: bool = False, test: str = "test_says") -> Golden:
    return Golden(module, test, {"/srv/x1": "TMP"}, renews=renews)


def record(module: Path, text: str, test: str = "test_says") -> None:
    texts = make(module, renews=True, test=test)
    texts(text)
    texts.finish()


def test_a_recorded_text_is_equal_to_itself_and_to_nothing_else(room: Path) -> None:
    record(room, "refused: a\n\nhint: b\n")
    make(room)("refused: a\n\nhint: b")
    with pytest.raises(AssertionError, match=r"plan\.txt, test_plan::test_says"):
        make(room)("refused: a\n\nhint: c")


def test_a_text_that_nobody_recorded_is_a_difference(room: Path) -> None:
    with pytest.raises(AssertionError, match="renew-golden"):
        make(room)("refused")


def test_what_differs_from_run_to_run_has_a_word(room: Path) -> None:
    texts = make(room, renews=True)
    texts("in /srv/x1/env/lib", ENV="/srv/x1/env")
    texts.finish()
    assert read_golden(golden.golden_file_of(room)) == {"test_plan::test_says": "in ENV/lib"}


def test_two_texts_of_one_test_need_names(room: Path) -> None:
    texts = make(room, renews=True)
    texts("a")
    texts("b", "second")
    with pytest.raises(AssertionError, match="need names"):
        texts("c", "second")


def test_renewing_replaces_a_tests_own_texts_and_keeps_others(room: Path) -> None:
    record(room, "one", "test_says[1]")
    record(room, "two", "test_says[2]")
    record(room, "another", "test_says[1]")
    assert read_golden(golden.golden_file_of(room)) == {
        "test_plan::test_says[1]": "another",
        "test_plan::test_says[2]": "two",
    }


def test_a_test_failing_before_it_has_a_text_keeps_the_old_one(room: Path) -> None:
    record(room, "a")
    make(room, renews=True).finish()
    assert read_golden(golden.golden_file_of(room)) == {"test_plan::test_says": "a"}


def test_a_text_whose_test_is_gone_is_found(room: Path) -> None:
    record(room, "a")
    record(room, "b", "test_said")
    assert list(find_stale_keys(golden.golden_file_of(room))) == ["test_plan::test_said"]


def test_no_recorded_text_is_stale() -> None:
    assert [key for file in golden.DIRECTORY.glob("*.txt") for key in find_stale_keys(file)] == []
