from pathlib import Path

import pytest

from fastinstall.bench import workloads
from fastinstall.bench.workloads import find_images, spread_evenly


def write(directory: Path, *names: str, content: bytes = b"") -> list[Path]:
    paths = [directory / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths


def test_images_are_found_by_their_extensions_below_a_directory(tmp_path: Path) -> None:
    wanted = write(tmp_path, "a.jpg", "deep/er/b.PNG", "c.webp")
    write(tmp_path, "notes.txt", "deep/labels.csv")
    found = find_images([tmp_path])
    assert found.images == tuple(sorted(wanted))
    assert found.others == 2
    assert found.complete


def test_hidden_directories_and_those_of_tools_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".git/a.jpg", ".cache/b.jpg", "node_modules/c.jpg", "kept/d.jpg")
    assert [path.name for path in find_images([tmp_path]).images] == ["d.jpg"]


def test_a_file_that_is_named_is_taken_whatever_it_looks_like(tmp_path: Path) -> None:
    (path,) = write(tmp_path, ".hidden/picture.data")
    assert find_images([path]).images == (path,)


def test_links_that_lead_in_a_circle_end_and_nothing_counts_twice(tmp_path: Path) -> None:
    write(tmp_path, "photos/a.jpg")
    (tmp_path / "photos/again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "same").symlink_to(tmp_path / "photos", target_is_directory=True)
    (tmp_path / "nowhere.jpg").symlink_to(tmp_path / "absent.jpg")
    found = find_images([tmp_path])
    assert [path.name for path in found.images] == ["a.jpg"]
    assert found.complete


def test_a_linked_directory_is_searched(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", "a.jpg")
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert [path.name for path in find_images([tmp_path / "set"]).images] == ["a.jpg"]


def test_a_search_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.jpg")
    monkeypatch.setattr(workloads, "MOST_SECONDS", 0.0)
    assert not find_images([tmp_path]).complete


def test_a_directory_that_is_gone_is_named_and_no_failure(tmp_path: Path) -> None:
    assert find_images([tmp_path / "gone"]).unreadable == [tmp_path / "gone"]


def test_the_same_images_give_the_same_sample_and_it_is_spread_over_all() -> None:
    images = [Path(f"/photos/{number:04}.jpg") for number in range(1000)]
    sample = spread_evenly(images)[:100]
    assert sample == spread_evenly(list(reversed(images)))[:100]
    in_quarters = [sum(250 * part <= int(path.stem) < 250 * part + 250 for path in sample) for part in range(4)]
    assert sum(in_quarters) == 100
    assert min(in_quarters) >= 12


def test_every_beginning_of_a_sample_has_its_share_of_each_kind() -> None:
    mixed = [Path(f"{number}.{'png' if number % 5 == 0 else 'jpg'}") for number in range(50)]
    few = spread_evenly(mixed)[:10]
    assert sum(each.suffix == ".png" for each in few) == 2
    assert spread_evenly(mixed[::-1]) == spread_evenly(mixed)
