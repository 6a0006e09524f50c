"""The cache of merges: the same order is merged once, any other again, and what is damaged is not used."""

import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from build_values import build_recipe, build_request, build_step

from fastinstall import cmerge
from fastinstall.cmerge.documents import KeptItems, Kernels, MergeReport, Part
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted, Started
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.linking import Headers
from fastinstall.wheelbuild.prepare import MergeOrder, place_of, prepare_source, unpack_source

SIZE = '#include "all.h"\n/* \udce9 */\nint size(int n) {\n    a(n);\n    return n;\n}\n'
FAST = SIZE.replace("a(n)", "simd(n)").replace('"all.h"\n', '"all.h"\n#include "simd.c"\n')
FILES = {"src/size.c": SIZE, "src/all.h": "int size(int n);\n"}
OF_THE_FORK = {**FILES, "src/size.c": FAST, "src/simd.c": "static int simd(int n) {\n    return n;\n}\n"}
RULES = Kernels(
    pypi="pillow-simd", follows="pillow", parts=(Part(name="size", files=("src/size.c",), operations=("resize",)),)
)


def sdist(directory: Path, name: str, files: Mapping[str, str]) -> Path:
    """An sdist of these files."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}.tar.gz"
    information = {"PKG-INFO": f"Metadata-Version: 2.4\nName: {name.rpartition('-')[0]}\nVersion: 1\n"}
    with tarfile.open(path, "w:gz") as archive:
        for file, text in {**information, **files}.items():
            content = text.encode("utf-8", "surrogateescape")
            member = tarfile.TarInfo(f"{name}/{file}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def request_of(directory: Path, events: list[Event], **changes: object) -> BuildRequest:
    """A build that merges."""
    request = build_request(
        directory,
        recipe=replace(build_recipe(), kernels=RULES),
        step=build_step(**changes),
        source=sdist(directory, "pillow-2.0", FILES),
        kernels=sdist(directory, "pillow_simd-1.0", OF_THE_FORK),
        base=sdist(directory, "pillow-1.0", FILES),
    )
    return replace(request, emit=events.append)


def prepared(request: BuildRequest, space: Path) -> tuple[Path, MergeReport | None]:
    tree = unpack_source(request, space)
    headers = Headers(digest="", versions={}, directories=(), jpeg_abi="", gcc=False)
    return tree, prepare_source(request, headers, tree, space)


def contents(tree: Path) -> dict[str, bytes]:
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def merged_times(events: list[Event]) -> int:
    return sum(isinstance(event, Started) for event in events)


def test_what_was_merged_before_is_put_in_place_to_the_byte_and_not_merged_again(tmp_path: Path) -> None:
    events: list[Event] = []
    request = request_of(tmp_path, events)
    (first, made), (second, recalled) = (prepared(request, tmp_path / name) for name in ("one", "two"))
    assert merged_times(events) == 1
    assert contents(first) == contents(second)
    assert b"simd(n)" in contents(second)["src/size.c"]
    assert b"\xe9" in contents(second)["src/size.c"]
    assert made == recalled
    assert recalled is not None
    assert recalled.new_files == ("src/simd.c",)
    assert list((request.cache / "tmp").iterdir()) == []


def test_what_was_left_out_is_said_again(tmp_path: Path) -> None:
    events: list[Event] = []
    request = request_of(tmp_path, events, without=("size",))
    for name in ("one", "two"):
        prepared(request, tmp_path / name)
    said = [event.message for event in events if isinstance(event, Noted) and event.warning]
    assert said == ["size is not accelerated: left out on request"] * 2


@pytest.mark.parametrize("what", ["merge.json", "files/src/size.c"])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"{}")], ids=["gone", "altered"])
def test_a_damaged_merge_is_told_and_made_again(tmp_path: Path, what: str, damage: Callable[[Path], object]) -> None:
    events: list[Event] = []
    request = request_of(tmp_path, events)
    whole = contents(prepared(request, tmp_path / "one")[0])
    (place,) = (request.cache / "merges").iterdir()
    damage(place / what)
    for name in ("two", "three"):
        assert contents(prepared(request, tmp_path / name)[0]) == whole
    assert merged_times(events) == 2
    said = [event.message for event in events if isinstance(event, Noted) and event.warning]
    assert said == [f"{place}: the cached merge is damaged; merging again"]


def test_what_fails_its_checks_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of(tmp_path, [])
    monkeypatch.setattr("fastinstall.cmerge.diagnostics.check_tree", lambda *_: ("src/size.c: a fault of this test",))
    with pytest.raises(FailedError, match="failed its static checks"):
        prepared(request, tmp_path / "one")
    assert not (request.cache / "merges").exists()


KEPT = KeptItems(file="src/size.c", items=("size",), reason="a test")
OTHERS: dict[str, Callable[[MergeOrder, Path], MergeOrder]] = {
    "source": lambda order, other: replace(order, source=other),
    "kernels": lambda order, other: replace(order, kernels=other),
    "base": lambda order, other: replace(order, base=other),
    "rules": lambda order, _: replace(order, rules=replace(order.rules, keep=(KEPT,))),
    "without": lambda order, _: replace(order, without=("size",)),
}


@pytest.mark.parametrize("changed", OTHERS)
def test_any_other_order_is_another_merge(tmp_path: Path, changed: str) -> None:
    files = {name: tmp_path / f"{name}.tar.gz" for name in ("source", "kernels", "base", "other")}
    for name, path in files.items():
        path.write_text(name)
    order = MergeOrder(source=files["source"], kernels=files["kernels"], base=files["base"], rules=RULES)
    assert place_of(tmp_path, order) == place_of(tmp_path, replace(order))
    assert place_of(tmp_path, OTHERS[changed](order, files["other"])) != place_of(tmp_path, order)


@pytest.mark.parametrize("what", ["_digest_merge_code", "__version__", "importlib.metadata.version"])
def test_other_code_that_merges_or_parses_gives_another_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "sdist").write_text("any")
    order = MergeOrder(source=tmp_path / "sdist", kernels=tmp_path / "sdist", base=tmp_path / "sdist", rules=RULES)
    before = place_of(tmp_path, order)
    monkeypatch.setattr(
        f"fastinstall.wheelbuild.prepare.{what}", "other" if what == "__version__" else lambda *_: "other"
    )
    assert place_of(tmp_path, order) != before


def test_the_code_that_merges_is_all_of_it() -> None:
    modules = [path.name for directory in cmerge.__path__ for path in Path(directory).glob("*.py")]
    assert {"trees.py", "threeway.py", "syntax.py", "diagnostics.py"} <= set(modules)
