"""The pre-commit manifest: it uses keys that pre-commit knows, and selects the files that can be judged."""

import re
import shlex
from pathlib import Path

from fastinstall.cli.parser import parse
from fastinstall.lockcheck.lock_names import FILES

MANIFEST = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"
REQUIRED = {"id", "name", "entry", "language"}
KNOWN = REQUIRED | {
    "alias",
    "files",
    "exclude",
    "types",
    "types_or",
    "exclude_types",
    "additional_dependencies",
    "args",
}
KNOWN |= {"always_run", "fail_fast", "pass_filenames", "description", "language_version", "log_file"}
KNOWN |= {"minimum_pre_commit_version", "require_serial", "stages", "verbose"}
"""The keys that pre-commit knows, from its documentation, "Creating new hooks"."""


def _hook() -> dict[str, str]:
    """Return the keys of the only hook with their values, which follow on the same line or in an indented block."""
    hook: dict[str, str] = {}
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"(?:- |  )([a-z_]+): (.*)", line)
        if found is not None:
            hook[found[1]] = found[2]
        elif line.startswith("    "):
            hook[list(hook)[-1]] += f"\n{line}"
        else:
            assert line.startswith("#"), line
    return hook


def test_the_keys_are_those_of_pre_commit() -> None:
    assert set(_hook()) >= REQUIRED
    assert set(_hook()) <= KNOWN
    assert MANIFEST.read_text(encoding="utf-8").count("- id:") == 1


def test_the_files_are_those_that_guard_check_takes() -> None:
    style, _, indented = _hook()["files"].partition("\n")
    block = indented.strip()
    assert style == "|-"
    assert re.sub(r"\s", "", block) == f"(?x){FILES}"
    assert re.search(block, "a/requirements/base.txt")
    assert not re.search(block, "a/requirements/base.md")


def test_the_entry_is_a_command_that_takes_files() -> None:
    program, *words = shlex.split(_hook()["entry"])
    arguments, _ = parse((*words, "uv.lock", "a b.txt"), {}, [])
    assert (program, arguments.verb, arguments.action) == ("fastinstall", "guard", "check")
    assert arguments.files == ["uv.lock", "a b.txt"]
