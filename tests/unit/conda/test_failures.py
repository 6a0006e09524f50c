"""Messages for failures of conda engines."""

from pathlib import Path

import pytest

from fastinstall.conda.engines.failures import make_conda_failure, make_failure
from fastinstall.core.errors import ExitCode

PREFIX = Path("/env")


@pytest.mark.parametrize(
    ("name", "code", "words", "hint"),
    [
        ("EnvironmentIsFrozenError", ExitCode.REFUSED, "/env is frozen", "--new-env"),
        ("EnvironmentNotWritableError", ExitCode.REFUSED, "may not write to /env", "--new-env"),
        ("EnvironmentNotWritableError", ExitCode.REFUSED, "may not write", "the owner of /env"),
        ("LockError", ExitCode.REFUSED, "another conda command", "run this again"),
        ("UnsatisfiableError", ExitCode.FAILED_UNCHANGED, "no solution for /env", "--version"),
        ("LibMambaUnsatisfiableError", ExitCode.FAILED_UNCHANGED, "no solution", "--engine pip"),
        (
            "SpecsConfigurationConflictError",
            ExitCode.FAILED_UNCHANGED,
            "conflicts with a pin of",
            "/env/conda-meta/pinned",
        ),
        ("PackagesNotFoundError", ExitCode.FAILED_UNCHANGED, "no such package", "--channel"),
        ("UnavailableInvalidChannel", ExitCode.FAILED_UNCHANGED, "cannot reach a channel", "--offline"),
        ("CorruptedEnvironmentError", ExitCode.FAILED_UNCHANGED, "records that conda cannot read", "doctor"),
    ],
)
def test_a_failure_has_its_exit_code_its_words_and_what_to_do(name: str, code: ExitCode, words: str, hint: str) -> None:
    error = make_failure(name, "what conda said\n\n  in two lines", "conda", PREFIX)
    assert error.exit_code == code
    assert words in error.message
    assert hint in (error.hint or "")
    assert error.details == ("what conda said", "  in two lines")


def test_an_unknown_failure_keeps_its_name_and_message() -> None:
    error = make_conda_failure({"exception_name": "CondaValueError", "message": "bad\nvery bad"}, PREFIX)
    assert error.message == "conda: CondaValueError: bad"
    assert error.details == ("very bad",)


def test_the_first_of_many_failures_counts_and_a_cause_is_shown() -> None:
    several = {"exception_name": "CondaMultiError", "errors": [{"exception_name": "LockError", "error": "held"}]}
    assert make_conda_failure(several, PREFIX).exit_code == ExitCode.REFUSED
    caused = {"exception_name": "CondaHTTPError", "message": "HTTP 000", "caused_by": "refused"}
    assert make_conda_failure(caused, PREFIX).details == ("HTTP 000", "refused")


def test_no_credentials_are_shown() -> None:
    error = make_failure("ChannelError", "https://me:secret@conda.example/x#y is gone", "conda", PREFIX)
    assert error.details == ("https://***@conda.example/x#y is gone",)


def test_a_failure_without_words_says_so() -> None:
    assert make_conda_failure({}, PREFIX).message == "conda: error: no message"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PackagesNotFoundError", "The following packages are not available:\n\n  - pillow=9\n"),
        ("LibMambaUnsatisfiableError", "nothing provides\n  pin-1 is not installable"),
    ],
)
def test_a_solver_that_stumbles_over_a_pin_is_understood(tmp_path: Path, name: str, text: str) -> None:
    document = {"exception_name": name, "message": text}
    assert "a pin of" not in make_conda_failure(document, tmp_path).message
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta/pinned").write_text("# numpy 1\npillow 9.*\n")
    assert "a pin of" in make_conda_failure(document, tmp_path).message
    other = {"exception_name": name, "message": "  - numpy=1"}
    assert "a pin of" not in make_conda_failure(other, tmp_path).message
