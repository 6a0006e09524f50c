"""Adapters of other distributions: behind ours, by a file that the target is given."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bench.adapters import adapter_named
from support.elf.extension_package import ADAPTER, make_distribution
from support.suite.golden import Golden

from fastinstall.bench.catalogue import adapter_problems, all_adapters


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path; what is imported from there is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


def make_adapter(site: Path, text: str = ADAPTER, name: str = "acme-raw") -> None:
    points = {"fastinstall.adapters": {name: "acme_raw"}}
    make_distribution(site, "acme-images", files={"acme_raw.py": text}, points=points)


def test_it_comes_behind_ours_and_can_be_compared(site: Path) -> None:
    make_adapter(site)
    adapter = all_adapters()[-1]
    assert (adapter.name, adapter.distribution, adapter.file) == ("acme-raw", "acme-images 1.0", site / "acme_raw.py")
    assert adapter_named("acme-raw") == adapter
    assert adapter_problems() == ()


@pytest.mark.parametrize("name", ["simplejpeg", "lmdb", "huge-pages"])
def test_what_we_can_compare_by_a_name_stays_ours(site: Path, name: str, golden: Golden) -> None:
    make_adapter(site, name=name)
    assert not any(each.distribution for each in all_adapters())
    (told,) = adapter_problems()
    assert repr(name) in told
    golden(told)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nowhere_to_be_found\n", "ModuleNotFoundError"),
        ("NAME = 'acme-raw'\n", "TITLE"),
        (ADAPTER.replace('("JPEG",)', "7"), "'int' object is not iterable"),
    ],
)
def test_a_broken_one_is_left_out_and_told(site: Path, text: str, reason: str) -> None:
    make_adapter(site, text)
    assert not any(each.distribution for each in all_adapters())
    (told,) = adapter_problems()
    assert "'acme-raw' of acme-images 1.0" in told
    assert reason in told
