"""What is not brought to our cache, whatever the index has."""

import re
from pathlib import Path

import pytest
from support.suite.golden import Golden
from support.values.builders import healthy_facts

from fastinstall.bench import materials
from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.materials import PackageFetching, fetch_packages
from fastinstall.bench.report import CandidateOutcome


@pytest.fixture
def fetching(tmp_path: Path) -> PackageFetching:
    return PackageFetching(interpreter=healthy_facts().interpreter, cache=tmp_path / "cache", variables={})


def test_a_disk_that_is_nearly_full_is_left_alone(
    fetching: PackageFetching, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr(materials, "FREE_BYTES", 1 << 70)
    with pytest.raises(NotLoadedError, match=r"numpy .*\d+ MiB .*\d+") as caught:
        fetch_packages("numpy", ("numpy",), fetching)
    assert caught.value.outcome is CandidateOutcome.MISSING
    golden(re.sub(r"\d+ MiB are free", "N MiB are free", caught.value.reason))


def test_a_cache_that_is_full_says_what_may_be_removed(
    fetching: PackageFetching, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr(materials, "MOST_BYTES", 99)
    monkeypatch.setattr(materials, "FREE_BYTES", 0)
    entry = fetching.cache / "libraries" / "another"
    entry.mkdir(parents=True)
    (entry / "module.py").write_bytes(bytes(100))
    with pytest.raises(NotLoadedError) as caught:
        fetch_packages("numpy", ("numpy",), fetching)
    assert str(fetching.cache / "libraries") in caught.value.reason
    golden(re.sub(r"\d+ MiB are free", "N MiB are free", caught.value.reason))
