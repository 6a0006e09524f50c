"""A conda environment observed as a whole, from files written by hand."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.conda.written_records import SITE, add_package, add_record, file_path, record
from support.environments.site_packages import install
from support.values.builders import healthy_facts

from fastinstall.core.codec import decode, encode
from fastinstall.model.conda import Conda, CondaClash
from fastinstall.observe.conda.prefix import observe_conda
from fastinstall.observe.stack import observe_distributions

REPLACED = ("pillow", "pil", "pillow-simd")


def _observe(prefix: Path, *, site_packages: Path | None = None) -> Conda:
    interpreter = replace(healthy_facts().interpreter, site_packages=site_packages or prefix / SITE)
    distributions = tuple(each for each in observe_distributions(prefix / SITE) if each.name in REPLACED)
    variables = {"HOME": str(prefix / "home")}
    return observe_conda(prefix, interpreter, REPLACED, variables, distributions=distributions)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment with conda's pillow, and pip's pillow-simd over it."""
    prefix = tmp_path / "env"
    add_package(prefix, "pillow", {f"{SITE}/PIL/_imaging.so": b"stock"})
    install(prefix / SITE, "pillow-simd", "9.5.0", {"PIL/_imaging.so": b"simd"})
    return prefix


def test_an_empty_directory_is_an_empty_environment(tmp_path: Path) -> None:
    assert _observe(tmp_path) == Conda(packages=(), unreadable={})


def test_everything_is_put_together(prefix: Path) -> None:
    add_record(prefix, record("conda", "24.7.1"))
    (prefix / "conda-meta/broken-1-0.json").write_text("{")
    (prefix / "conda-meta/pinned").write_text("pillow *=simd_*\n")
    (prefix / "conda-meta/history").write_text("==> then <==\n+forge::pillow-1.0-h0_0\n")
    (prefix / "condarc.d").mkdir()
    (prefix / "condarc.d/fastinstall.yml").write_text("channels: [file:///srv/channel]\n")
    (prefix / "lib/python3.10/site-packages/x-1.dist-info").mkdir(parents=True)
    (prefix / "conda-meta/old-1-0.json.c~").touch()
    conda = _observe(prefix)
    clash = CondaClash(
        path=f"{SITE}/PIL/_imaging.so",
        claimants=("pillow-1.0-h0_0", "pip: pillow-simd 9.5.0"),
        holder="pip: pillow-simd 9.5.0",
    )
    assert [package.name for package in conda.packages] == ["conda", "pillow"]
    assert list(conda.unreadable) == ["broken-1-0.json"]
    assert [claim.altered for claim in conda.claims] == [(f"{SITE}/PIL/_imaging.so",)]
    assert (conda.clashes, conda.pins, conda.is_base) == ((clash,), ("pillow *=simd_*",), True)
    assert [revision.linked for revision in conda.revisions] == [("pillow-1.0-h0_0",)]
    assert (conda.channels, conda.has_channels) == (("file:///srv/channel",), True)
    assert conda.usual_channels == (), "the environment's own are not those of every one"
    assert (conda.stale, conda.debris) == (("lib/python3.10/site-packages",), ("conda-meta/old-1-0.json.c~",))
    assert decode(Conda, encode(conda), file="facts.json") == conda


def test_an_environment_behind_a_link_is_the_same(prefix: Path) -> None:
    (prefix.parent / "link").symlink_to("env")
    assert _observe(prefix.parent / "link", site_packages=prefix / SITE) == _observe(prefix)


def test_only_the_distributions_that_are_given_claim_files(prefix: Path) -> None:
    interpreter = replace(healthy_facts().interpreter, site_packages=prefix / SITE)
    known = observe_distributions(prefix / SITE)
    assert observe_conda(prefix, interpreter, REPLACED, {}, distributions=()).clashes == ()
    assert observe_conda(prefix, interpreter, REPLACED, {}, distributions=known) == _observe(prefix)


def test_the_executable_of_the_environment_is_found(prefix: Path) -> None:
    conda = prefix / "bin/conda"
    conda.parent.mkdir()
    conda.write_text("#!/bin/sh\n")
    conda.chmod(0o755)
    tool = _observe(prefix).tool
    assert tool is not None
    assert (tool.command, tool.root, tool.found_by) == ((str(conda),), prefix, "environment")


def test_a_record_with_garbled_paths_is_named_if_they_matter(prefix: Path) -> None:
    paths = [file_path(f"lib/libtiff{number}.so", b"") for number in range(90)]
    path = add_record(prefix, record("thing", paths=paths))
    content = path.read_bytes()
    middle = content.rindex(b"size_in_bytes")
    path.write_bytes(content[:middle] + b"\xff" + content[middle + 1 :])
    assert _observe(prefix).unreadable == {path.name: "not UTF-8"}
