"""`fastinstall build --format conda`, from the build to a channel, on the command line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.environments.interpreters import running
from support.sandbox import NewSandbox, Result, Sandbox


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A channel written by `fastinstall build`, and the result of the command."""

    directory: Path
    result: Result

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        """The records of the channel's indexes, by file name."""
        indexes = [json.loads(path.read_text()) for path in sorted(self.directory.glob("*/repodata.json"))]
        return {name: record for index in indexes for name, record in index["packages.conda"].items()}


@pytest.fixture(scope="module")
def channel(new_sandbox: NewSandbox) -> Iterator[Channel]:
    with new_sandbox() as sandbox:
        directory = sandbox.root / "channel"
        yield Channel(directory=directory, result=_build(sandbox, directory, "--json"))


def test_it_makes_a_channel_with_the_stack_and_its_guard(channel: Channel) -> None:
    told = channel.result.document
    jsonschema.validate(told, SCHEMAS["build"]())
    assert (told["format"], told["channel"]) == ("conda", channel.directory.as_uri())
    stack, guard = told["packages"]
    assert stack["build"] == f"simd_v2v3_py{str(running()).replace('.', '')}_0"
    assert (stack["name"], guard["name"]) == ("pillow", "fastinstall-guard")
    for package in told["packages"]:
        record = channel.records[Path(package["path"]).name]
        assert Path(package["path"]).parent.name == record["subdir"]
        assert record["sha256"] == package["sha256"]


def test_what_it_says_of_the_package_is_what_the_wheel_is(channel: Channel) -> None:
    record = channel.records[Path(channel.result.document["packages"][0]["path"]).name]
    assert record["license"] == "MIT-CMU"
    assert any(spec.startswith("__glibc >=2.") for spec in record["depends"])
    assert any(spec.startswith("__archspec ") and "^x86_64_v2$" in spec for spec in record["depends"])


def test_a_second_run_changes_nothing_and_prints_the_paths(channel: Channel, sandbox: Sandbox) -> None:
    before = {path: path.read_bytes() for path in channel.directory.rglob("*") if path.is_file()}
    again = _build(sandbox, channel.directory)
    assert again.stdout.split() == [package["path"] for package in channel.result.document["packages"]]
    assert {path: path.read_bytes() for path in channel.directory.rglob("*") if path.is_file()} == before


def test_without_the_guard_it_makes_the_stack_alone(sandbox: Sandbox) -> None:
    made = _build(sandbox, sandbox.root / "channel", "--no-guard", "--json")
    assert [package["name"] for package in made.document["packages"]] == ["pillow"]
    assert (sandbox.root / "channel/noarch/repodata.json").is_file()


def test_a_directory_that_cannot_be_written_is_named(sandbox: Sandbox) -> None:
    (sandbox.root / "file").touch()
    refused = sandbox.cli("build", "-o", sandbox.root / "file", "--format", "conda", "--python", running().executable)
    assert refused.exit_code == 6, refused.text
    assert f"-o {sandbox.root / 'file'}: cannot be written" in refused.stderr


def _build(sandbox: Sandbox, directory: Path, *words: str) -> Result:
    done = sandbox.cli("build", "-o", directory, "--format", "conda", "--python", running().executable, *words)
    assert done.exit_code == 0, done.text
    return done
