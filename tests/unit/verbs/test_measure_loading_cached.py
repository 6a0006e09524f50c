from functools import partial
from pathlib import Path

from support.values.builders import healthy_facts

from fastinstall.index import downloads
from fastinstall.model.artefact import Artefact
from fastinstall.verbs.measure_loading import find_cached_build, find_official_wheel
from fastinstall.wheelbuild.wheel_cache import store_wheel

INTERPRETER = healthy_facts().interpreter
TAG = f"{INTERPRETER.abi}-{INTERPRETER.abi}-manylinux_2_27_x86_64"
INPUTS = {"recipe": "pillow-fast", "link": "bundle", "python": "cpython 3.11 cp311"}


PLACES = ("https://index.example/simple",)


def fetched(cache: Path, filename: str, index: str = PLACES[0]) -> str:
    """Put a file into the store of downloads, and return its hash."""
    artefact = Artefact(name="pillow", version="1", filename=filename, url="https://a", sha256="", index=index)
    return downloads.store_download(cache, artefact, partial(_write, filename + index)).parent.name


def _write(text: str, path: Path) -> None:
    path.write_text(text)


def built(cache: Path, version: str, index: str = PLACES[0], **changes: str) -> None:
    wheel = cache / f"pillow-{version}-{TAG}.whl"
    source = fetched(cache, f"pillow-{version.partition('+')[0]}.tar.gz", index)
    wheel.write_text(version)
    store_wheel(cache, {**INPUTS, "distribution": f"pillow {version}", "source": source, **changes}, wheel, {})


def test_the_newest_official_wheel_that_fits_is_found_by_names_alone(tmp_path: Path) -> None:
    assert find_official_wheel(tmp_path, INTERPRETER, PLACES) is None
    for name in (
        f"pillow-9.5.0-{TAG}.whl",
        f"pillow-12.1.1-{TAG}.whl",
        f"pillow-13.0.0+simd.v3-{TAG}.whl",
        "pillow-13.0.0-cp399-cp399-manylinux_2_27_x86_64.whl",
        "pillow-13.0.0.tar.gz",
    ):
        fetched(tmp_path, name)
    fetched(tmp_path, f"pillow-13.0.0-{TAG}.whl", index="https://other.example/simple")
    fetched(tmp_path, f"pillow-13.0.1-{TAG}.whl", index="")
    found = find_official_wheel(tmp_path, INTERPRETER, PLACES)
    assert found is not None
    assert (found.version, found.filename) == ("12.1.1", f"pillow-12.1.1-{TAG}.whl")
    assert found.sha256 in found.url


def test_the_newest_build_of_the_usual_recipe_for_this_python_is_found(tmp_path: Path) -> None:
    assert find_cached_build(tmp_path, INTERPRETER, PLACES) is None
    built(tmp_path, "9.9.0+simd.v2.v3")
    built(tmp_path, "12.1.1+simd.v3")
    built(tmp_path, "12.1.1+simd.v2.v3")
    built(tmp_path, "13.0.0+opt.v2", recipe="pillow")
    built(tmp_path, "13.0.0+simd.v2", python="cpython 3.13 cp313")
    built(tmp_path, "13.0.0+simd.v3", link="env")
    built(tmp_path, "13.0.0+simd.v2.v3", index="")
    found = find_cached_build(tmp_path, INTERPRETER, PLACES)
    assert found is not None
    assert found.name == f"pillow-12.1.1+simd.v2.v3-{TAG}.whl"


def test_a_damaged_entry_is_no_build(tmp_path: Path) -> None:
    built(tmp_path, "12.1.1+simd.v3")
    (result,) = tmp_path.glob("wheels/*/result.json")
    result.write_text("{")
    assert find_cached_build(tmp_path, INTERPRETER, PLACES) is None
