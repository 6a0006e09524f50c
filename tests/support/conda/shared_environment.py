"""A conda environment that fastinstall and conda change alternately."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.conda.environments import builds
from support.conda.real_conda import RealConda
from support.sandbox import Result, Sandbox, Variables, tree_hash

REFUSED, FAILED = 5, 6
"""Documented exit codes."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """An environment, and methods that run fastinstall with a conda, but without an active environment."""

    sandbox: Sandbox
    conda: RealConda
    prefix: Path

    @property
    def pillow(self) -> str:
        """Version and build of conda's package `pillow`: "13.0.0 simd_v2v3_py311_0"."""
        return builds(self.prefix).get("pillow", "")

    def run(self, *words: str | Path, changes: Variables | None = None) -> Result:
        """Run fastinstall without selecting an environment."""
        return self.sandbox.cli(*words, env={**self.conda.variables, **(changes or {})})

    def cli(self, verb: str, *words: str | Path, changes: Variables | None = None) -> Result:
        """Run fastinstall on the environment."""
        return self.run(verb, "--prefix", self.prefix, *words, changes=changes)

    def done(self, verb: str, *words: str | Path, changes: Variables | None = None) -> Result:
        """Run fastinstall on the environment; fail if it fails."""
        result = self.cli(verb, *words, changes=changes)
        assert result.exit_code == 0, result.text
        return result

    def refuses(self, *words: str, changes: Variables | None = None, code: int = REFUSED) -> str:
        """Run a setup that must fail with this code, print a hint and change nothing; return its error message."""
        before = tree_hash(self.prefix)
        result = self.cli("setup", "--yes", *words, changes=changes)
        assert result.exit_code == code, result.text
        assert result.stdout == ""
        error = result.stderr[result.stderr.index("error: ") :]
        assert "\n  hint: " in error, error
        assert tree_hash(self.prefix) == before
        return error

    def errors(self) -> dict[str, Mapping[str, Any]]:
        """Return doctor's findings with status "error", by check; if a check has several, the last one."""
        document = self.cli("doctor", "--json").document
        return {each["check"]: each for each in document["findings"] if each["status"] == "error"}
