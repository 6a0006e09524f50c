"""The cache of built wheels; small files stand in for wheels, as the cache never reads their content."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.core.events import Event, Noted, ignore
from fastinstall.wheelbuild import wheel_cache

INPUTS = {"source": "a" * 64, "cflags": "-O3", "python": "cpython 3.11 cp311"}
FEATURES = {"JPEG": "", "LIBTIFF": None, "OPENJPEG (JPEG2000)": "2.5"}


def put(root: Path, content: bytes = b"wheel") -> Path:
    """Store a wheel; return its file in the cache."""
    wheel = root / "tmp/pillow-1-cp311-cp311-linux_x86_64.whl"
    wheel.parent.mkdir(parents=True, exist_ok=True)
    wheel.write_bytes(content)
    entry = wheel_cache.store_wheel(root, INPUTS, wheel, FEATURES)
    return wheel_cache.locate_wheel(root, entry)


def test_what_is_stored_is_found_with_its_features(tmp_path: Path) -> None:
    put(tmp_path)
    entry = wheel_cache.find_cached_wheel(tmp_path, wheel_cache.key_of(INPUTS), ignore)
    assert entry is not None
    assert (entry.features, entry.inputs) == (FEATURES, INPUTS)


@pytest.mark.parametrize("changed", [{"cflags": "-O2"}, {"python": "cpython 3.12 cp312"}, {"extra": ""}])
def test_any_other_input_is_another_entry(tmp_path: Path, changed: dict[str, str]) -> None:
    put(tmp_path)
    assert wheel_cache.find_cached_wheel(tmp_path, wheel_cache.key_of({**INPUTS, **changed}), ignore) is None


def test_the_order_of_inputs_does_not_matter() -> None:
    assert wheel_cache.key_of(dict(reversed(INPUTS.items()))) == wheel_cache.key_of(INPUTS)


@pytest.mark.parametrize("damage", ["altered", "truncated", "no wheel", "no result", "no json", "old schema"])
def test_a_damaged_entry_is_reported_and_counts_as_absent(tmp_path: Path, damage: str) -> None:
    wheel = put(tmp_path)
    result = wheel.with_name("result.json")
    acts: dict[str, Callable[[], object]] = {
        "altered": lambda: wheel.write_bytes(b"whale"),
        "truncated": lambda: wheel.write_bytes(b""),
        "no wheel": wheel.unlink,
        "no result": result.unlink,
        "no json": lambda: result.write_text("{"),
        "old schema": lambda: result.write_text(result.read_text().replace("build/1", "build/0")),
    }
    acts[damage]()
    events: list[Event] = []
    assert wheel_cache.find_cached_wheel(tmp_path, wheel_cache.key_of(INPUTS), events.append) is None
    (noted,) = events
    assert isinstance(noted, Noted)
    assert noted.warning
    assert str(wheel.parent) in noted.message


def test_a_damaged_entry_is_replaced_whole_without_leftovers(tmp_path: Path) -> None:
    wheel = put(tmp_path)
    wheel.write_bytes(b"whale")
    (wheel.parent / "stray").touch()
    put(tmp_path)
    assert wheel.read_bytes() == b"wheel"
    assert sorted(path.name for path in wheel.parent.iterdir()) == [wheel.name, "result.json"]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [path.name for path in wheel.parent.parent.iterdir()] == [wheel.parent.name]


def test_the_later_of_two_builders_wins_with_a_whole_entry(tmp_path: Path) -> None:
    put(tmp_path, b"first")
    wheel = put(tmp_path, b"later")
    assert wheel_cache.find_cached_wheel(tmp_path, wheel_cache.key_of(INPUTS), ignore) is not None
    assert wheel.read_bytes() == b"later"


def test_an_empty_cache_says_nothing(tmp_path: Path) -> None:
    events: list[Event] = []
    assert wheel_cache.find_cached_wheel(tmp_path / "absent", wheel_cache.key_of(INPUTS), events.append) is None
    assert events == []
