"""`fastinstall bench` from the command line: damaged images, failing loaders, nothing to measure, an interruption."""

import shutil
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

import PIL
import pytest
from PIL import Image
from support.environments.interpreters import running
from support.machine.processes import lasting_command_lines
from support.sandbox import NewSandbox, Result, Sandbox, Venv

QUICK = ("bench", "--quick", "--only", "loading")


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[tuple[Sandbox, Venv]]:
    """Yield an environment with the tests' Pillow; the sandbox's `images` has usable and unusable images."""
    with new_sandbox() as sandbox:
        venv = sandbox.venv(running(), pip=False)
        own = Path(PIL.__file__).parents[1]
        for each in (own / "PIL", *own.glob("pillow.libs"), *own.glob("pillow-*.dist-info")):
            shutil.copytree(each, venv.site_packages / each.name)
        write_images(sandbox.root / "images")
        yield sandbox, venv


def write_images(directory: Path) -> None:
    """Write five usable images, in two directories, and one unusable image of each kind."""
    (directory / "deeper").mkdir(parents=True)
    photo = Image.frombytes("RGB", (32, 24), bytes(range(256)) * 9).resize((400, 300), Image.Resampling.BICUBIC)
    for name in ("a.jpg", "b.jpg", "c.jpg", "d.png"):
        photo.save(directory / name)
    photo.save(directory / "deeper/e.jpeg")
    whole = (directory / "a.jpg").read_bytes()
    (directory / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    (directory / "text.png").write_text("no image")
    (directory / "empty.jpg").touch()
    photo.convert("CMYK").save(directory / "cmyk.jpg")
    Image.new("I;16", (60, 60)).save(directory / "deep.png")
    photo.save(directory / "animated.gif", save_all=True, append_images=[photo.rotate(90)])
    (directory / "huge.png").write_bytes(enlarged((directory / "d.png").read_bytes(), 60_000))
    (directory / "notes.txt").write_text("no image either")


def enlarged(png: bytes, side: int) -> bytes:
    """Return the PNG with a header that claims this width and height."""
    header = b"IHDR" + side.to_bytes(4, "big") * 2 + png[24:29]
    return png[:12] + header + zlib.crc32(header).to_bytes(4, "big") + png[33:]


def bench(scene: tuple[Sandbox, Venv], *words: str | Path) -> Result:
    sandbox, venv = scene
    cache = {"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")}
    return sandbox.cli(*QUICK, "--prefix", venv.prefix, *words, env=cache)


def left_behind(sandbox: Sandbox) -> list[Path]:
    places = (sandbox.root / "cache/tmp", sandbox.root / "tmp")
    return [path for place in places if place.is_dir() for path in place.iterdir()]


def test_damaged_images_are_named_and_the_others_measured(scene: tuple[Sandbox, Venv]) -> None:
    sandbox, venv = scene
    names = "pillow-draft,official-wheel,simplejpeg,lmdb"
    found = bench(scene, sandbox.root / "images", "--json", "--candidates", names, "--target-rate", "1")
    assert found.exit_code == 0, found.text
    report = found.document
    assert (report["schema"], report["effort"], report["prefix"]) == ("fastinstall.bench/1", "quick", str(venv.prefix))
    (result,) = report["workloads"]
    workload = result["workload"]
    assert (workload["images"], workload["files"]) == (5, 12)
    assert workload["formats"] == {"JPEG": 4, "PNG": 1}
    reasons = {each["reason"]: [Path(path).name for path in each["examples"]] for each in workload["unmeasured"]}
    assert reasons == {
        "truncated": ["truncated.jpg"],
        "not an image that Pillow knows": ["text.png"],
        "empty": ["empty.jpg"],
        "CMYK": ["cmyk.jpg"],
        "I;16": ["deep.png"],
        "several pictures": ["animated.gif"],
        "too large": ["huge.png"],
    }
    assert list(result["baseline"]["stages"])[:2] == ["read", "decode"]
    assert max(each["workers"] for each in result["baseline"]["rates"]) >= 1
    assert (result["verdict"]["bound"], result["verdict"]["target_rate"]) == ("fast enough", 1.0)
    by_name = {each["name"]: each for each in result["candidates"]}
    assert by_name.pop("control")["kind"] == "control"
    assert set(by_name) == set(names.split(","))
    draft = by_name.pop("pillow-draft")
    assert (draft["outcome"], draft["left_out"]) == ("measured", 1)
    assert draft["gain"]["rounds"] >= 3
    assert all(each["outcome"] == "missing" and each["reason"] for each in by_name.values())
    assert "fastinstall bench --with simplejpeg" in by_name["simplejpeg"]["reason"]
    assert left_behind(sandbox) == []


def test_a_loader_that_dies_ends_the_run(scene: tuple[Sandbox, Venv]) -> None:
    sandbox, _ = scene
    loader = sandbox.root / "loader.py"
    loader.write_text("import os\n\ndef load(path):\n    os.abort()\n")
    found = bench(scene, sandbox.root / "images", "--loader", loader)
    assert found.exit_code == 6, found.text
    assert "crashed: killed by SIGABRT" in found.stderr
    assert "Traceback" not in found.text
    assert left_behind(sandbox) == []


@pytest.mark.parametrize(
    ("words", "exit_code", "says"),
    [
        (("{root}/texts",), 4, "no images in {root}/texts: 1 other file"),
        (("{root}/broken",), 4, "1 not an image"),
        (("{root}/images", "--candidates", "pilow"), 2, "pilow"),
        (("--workload", "13mp"), 2, "13mp"),
    ],
)
def test_with_nothing_to_measure_it_says_what_was_found(
    scene: tuple[Sandbox, Venv], words: tuple[str, ...], exit_code: int, says: str
) -> None:
    sandbox, _ = scene
    for name in ("texts", "broken"):
        (sandbox.root / name).mkdir(exist_ok=True)
    (sandbox.root / "texts/notes.txt").touch()
    (sandbox.root / "broken/text.png").write_text("no image")
    found = bench(scene, *(word.format(root=sandbox.root) for word in words))
    assert found.exit_code == exit_code, found.text
    assert says.format(root=sandbox.root) in found.stderr
    assert "hint:" in found.stderr


def test_an_interruption_leaves_nothing_behind(scene: tuple[Sandbox, Venv]) -> None:
    sandbox, venv = scene
    cache = {"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")}
    with sandbox.started(*QUICK, "--prefix", venv.prefix, "--workload", "500px", env=cache) as running_bench:
        running_bench.wait_for("(in place): ")
        assert left_behind(sandbox) != []
        ended = running_bench.end(signal.SIGINT)
    assert ended.exit_code == 130, ended.text
    assert left_behind(sandbox) == []
    assert lasting_command_lines(str(venv.prefix)) == []
