"""`fastinstall recipes check --prove NAME`: what it refuses before anything is fetched."""

import pytest
from support.sandbox import UNREACHABLE, Sandbox


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "--prove", "pilow-merged"), ("pilow-merged", "did you mean")),
        (("check", "--prove", "pillow-fast", "--level", "x86-64-v9"), ("x86-64-v9", "known:")),
        (("check", "pillow", "--prove", "pillow-fast"), ("proves one recipe", "recipes check pillow")),
        (("list", "--prove", "pillow-fast"), ("recipes list", "recipes check --prove NAME")),
    ],
)
def test_a_proof_of_what_is_not_there_is_a_usage_error(
    words: tuple[str, ...], says: tuple[str, ...], sandbox: Sandbox
) -> None:
    result = sandbox.cli("recipes", *words, env=UNREACHABLE)
    assert result.exit_code == 2, result.text
    assert all(part in result.stderr for part in says), result.stderr
