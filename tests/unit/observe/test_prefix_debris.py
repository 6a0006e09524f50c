"""Files in a conda environment that belong to no installed package."""

from pathlib import Path

from support.conda.written_records import SITE

from fastinstall.observe.conda.prefix import observe_debris, observe_stale

REPLACED = ("pillow", "pillow-simd")


def _write(prefix: Path, *paths: str) -> None:
    for path in paths:
        (prefix / path).parent.mkdir(parents=True, exist_ok=True)
        (prefix / path).touch()


def test_distributions_of_another_python_are_stale(tmp_path: Path) -> None:
    _write(
        tmp_path, f"{SITE}/numpy-1.0.dist-info/METADATA", "lib/python3.10/site-packages/torch-1.0.dist-info/METADATA"
    )
    _write(tmp_path, "lib/python3.9/site-packages/PIL/Image.py", "lib/python3.12/site-packages/README.txt")
    _write(tmp_path, "lib/python3.8/os.py", "lib/pythonic.so")
    (tmp_path / "lib/python3.1").symlink_to("python3.11")
    assert observe_stale(tmp_path, SITE) == ("lib/python3.10/site-packages", "lib/python3.9/site-packages")


def test_what_killed_transactions_leave_is_debris(tmp_path: Path) -> None:
    debris = (
        ".trash/libjpeg.so.62-1",
        "conda-meta/pillow-1.0-h0_0.json.c~",
        f"{SITE}/PIL/Image.py.c~",
        f"{SITE}/PIL/deep/er/file.py.c~",
        f"{SITE}/pillow-1.0.dist-info/licenses/LICENSE.c~",
        f"{SITE}/pillow_simd-1.0.dist-info/RECORD.c~",
        "lib/libjpeg.so.62.c~",
        "lib/libtiff.so.conda_trash_1",
    )
    others = ("conda-meta/history", "lib/libjpeg.so", f"{SITE}/PIL/Image.py", f"{SITE}/numpy/core.py.c~", "notes.c")
    _write(tmp_path, *debris, *others)
    assert observe_debris(tmp_path, SITE, REPLACED) == tuple(sorted(debris))


def test_an_empty_place_has_neither(tmp_path: Path) -> None:
    assert observe_stale(tmp_path, SITE) == ()
    assert observe_debris(tmp_path, SITE, REPLACED) == ()
