"""`sh bootstrap.sh prove NAME`: what it refuses before anything is downloaded, and its help."""

import sys

import pytest
from support.sandbox import UNREACHABLE, Sandbox, run


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("pilow-merged",), ("pilow-merged", "did you mean")),
        (("pillow-fast", "--level", "x86-64-v9"), ("x86-64-v9", "known:")),
        (("pillow-fast", "--quickly"), ("no flag --quickly", "sh bootstrap.sh prove --help")),
    ],
)
def test_a_proof_of_what_is_not_there_is_a_usage_error(
    words: tuple[str, ...], says: tuple[str, ...], sandbox: Sandbox
) -> None:
    argv = (sys.executable, "-P", "-m", "whole_proof", *words)
    result = run(argv, sandbox.variables(UNREACHABLE), directory=sandbox.root)
    assert result.exit_code == 2, result.text
    assert all(part in result.stderr for part in says), result.stderr


def test_its_help_is_that_of_a_verb(sandbox: Sandbox) -> None:
    argv = (sys.executable, "-P", "-m", "whole_proof", "--help")
    result = run(argv, sandbox.variables(), directory=sandbox.root)
    assert result.exit_code == 0, result.text
    assert result.stdout.startswith("usage: sh bootstrap.sh prove NAME")
    assert "--levels" in result.stdout
