"""If nobody can be asked, nothing is changed without --yes; the message gives the command for the change."""

import pytest
from support.environments.interpreters import running
from support.sandbox import Sandbox, Venv, tree_hash


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    root = tmp_path_factory.mktemp("consent")
    return Sandbox(root=root, cache=root / "cache", downloads=root / "downloads").venv(running(), pip=False)


@pytest.mark.parametrize(
    "words", [("guard", "install"), ("guard", "remove"), ("rollback", "--interrupted")], ids=" ".join
)
def test_a_verb_that_changes_something_needs_consent(sandbox: Sandbox, venv: Venv, words: tuple[str, ...]) -> None:
    guard = venv.site_packages / "fastinstall_guard.pth"
    guard.touch()  # without a guard, there would be nothing to remove
    before = tree_hash(venv.prefix)
    done = sandbox.cli(*words, "--prefix", venv.prefix)
    assert done.exit_code == 5
    assert "Not a terminal" in done.stderr
    assert f"hint: fastinstall {' '.join(words)} --yes --prefix {venv.prefix}" in done.stderr
    assert tree_hash(venv.prefix) == before
    guard.unlink()


@pytest.mark.parametrize("words", [("guard", "status"), ("rollback", "--list"), ("doctor", "--quick")], ids=" ".join)
def test_a_verb_that_only_looks_needs_none(sandbox: Sandbox, venv: Venv, words: tuple[str, ...]) -> None:
    assert sandbox.cli(*words, "--prefix", venv.prefix).exit_code == 0


def test_directory_settings_apply_and_an_invalid_value_is_named(sandbox: Sandbox, venv: Venv) -> None:
    settings = sandbox.root / "fastinstall.toml"
    settings.write_text('fail_on = "never"\njson = true\n')
    assert sandbox.cli("doctor", "--quick", "--prefix", venv.prefix).document["schema"] == "fastinstall.doctor/1"
    settings.write_text('fail_on = "sometimes"\n')
    wrong = sandbox.cli("doctor", "--quick", "--prefix", venv.prefix)
    assert wrong.exit_code == 2
    assert "fastinstall.toml: fail_on: 'sometimes' " in wrong.stderr
