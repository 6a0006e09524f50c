"""Which images can be measured: real Pillow writes images, many are damaged, and another process judges them."""

import io
import os
import struct
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.report import CandidateOutcome
from fastinstall.bench.workloads import SurveyedImage, judge_images

SIZE = (64, 48)
PYTHON = Path(sys.executable)
DYING_PIL = '''
"""Stands for a Pillow that dies or hangs on a picture: none is known that kills a sound one."""
import contextlib, ctypes, os, time

MAX_IMAGE_PIXELS = 1000
DecompressionBombWarning = type("DecompressionBombWarning", (RuntimeWarning,), {})
DecompressionBombError = type("DecompressionBombError", (Exception,), {})
UnidentifiedImageError = type("UnidentifiedImageError", (OSError,), {})


class Picture(contextlib.nullcontext):
    format, mode, size, width, height, info = "JPEG", "RGB", (8, 6), 8, 6, {}

    def load(self):
        if self.content == b"abort":
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: writing a dump may take longer than the patience
            os.abort()
        if self.content == b"exit":
            os._exit(3)
        if self.content == b"hang":
            time.sleep(60)
        print("a codec that talks", flush=True)


def open(stream):
    picture = Picture()
    picture.content = stream.read()
    return picture
'''


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    """Return the encoded image."""
    target = io.BytesIO()
    image.save(target, form, **options)
    return target.getvalue()


def several(image: Image.Image, form: str) -> bytes:
    """Return an encoded file with two pictures: the image, and the image rotated."""
    return encoded(image.copy(), form, save_all=True, append_images=[image.rotate(180)])


def flipped(content: bytes, place: int) -> bytes:
    """Return the content with the four bytes at `place` inverted."""
    damaged = bytearray(content)
    damaged[place : place + 4] = bytes(each ^ 0xFF for each in damaged[place : place + 4])
    return bytes(damaged)


def png(width: int, height: int, depth: int, content: bytes) -> bytes:
    """Return an RGB PNG file; unlike Pillow, allow any bit depth, and a header that contradicts the content."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def widened(jpeg: bytes) -> bytes:
    """Return the progressive JPEG with a header that claims 8000 x 4000 pixels."""
    place = jpeg.index(b"\xff\xc2") + 5
    return jpeg[:place] + struct.pack(">HH", 4000, 8000) + jpeg[place + 4 :]


def pictures() -> dict[str, bytes]:
    """Return good and damaged image files, by name."""
    noise = Image.frombytes("RGB", SIZE, bytes(range(256)) * 36)
    jpeg, lossless, progressive = (
        encoded(noise, "JPEG"),
        encoded(noise, "PNG"),
        encoded(noise, "JPEG", progressive=True),
    )
    return {
        "sound.jpg": jpeg,
        "sound.png": lossless,
        "grey.jpg": encoded(noise.convert("L"), "JPEG"),
        "palette.gif": encoded(noise, "GIF"),
        "alpha.png": encoded(noise.convert("RGBA"), "PNG"),
        "phone.jpg": several(noise, "MPO"),
        "progressive.jpg": progressive,
        "short.jpg": jpeg[: len(jpeg) * 2 // 3],
        "header.jpg": jpeg[:100],
        "short.png": lossless[: len(lossless) // 2],
        "flipped.png": flipped(lossless, 60),
        "flipped.jpg": flipped(jpeg, jpeg.index(b"\xff\xc4") + 4),
        "cmyk.jpg": encoded(noise.convert("CMYK"), "JPEG"),
        "lab.tif": encoded(noise.convert("LAB"), "TIFF"),
        "grey16.png": encoded(Image.new("I;16", SIZE), "PNG"),
        "colour16.png": png(2, 2, 16, (b"\0" + bytes(range(12))) * 2),
        "float.tif": encoded(Image.new("F", SIZE), "TIFF"),
        "moving.gif": several(noise, "GIF"),
        "moving.png": several(noise, "PNG"),
        "pages.tif": several(noise, "TIFF"),
        "bomb.png": png(20_000, 20_000, 8, b""),
        "large.png": png(9_000, 9_000, 8, b""),
        "wide.jpg": widened(progressive),
        "drawing.jpg": encoded(noise, "EPS"),
        "text.jpg": b"no picture, but words\n" * 20,
        "empty.jpg": b"",
    }


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Return all that a directory of images may contain: images, a directory, a FIFO, links, odd names."""
    directory = tmp_path_factory.mktemp("images")
    for name, content in pictures().items():
        (directory / name).write_bytes(content)
    (directory / "directory.jpg").mkdir()
    os.mkfifo(directory / "fifo.jpg")
    (directory / "dangling.jpg").symlink_to("nothing")
    (directory / "odd \n name \udcff.jpg").write_bytes(pictures()["sound.jpg"])
    return tuple(sorted(directory.iterdir()))


@pytest.fixture(scope="module")
def verdicts(places: tuple[Path, ...]) -> Mapping[str, SurveyedImage]:
    return {each.path.name: each for each in judge_images(places, PYTHON, {})}


@pytest.mark.parametrize(
    ("reason", "names"),
    [
        ("", ("sound.jpg", "sound.png", "grey.jpg", "palette.gif", "alpha.png", "phone.jpg", "progressive.jpg")),
        ("", ("odd \n name \udcff.jpg",)),
        ("truncated", ("short.jpg", "header.jpg", "short.png")),
        ("corrupt", ("flipped.png", "flipped.jpg")),
        ("CMYK", ("cmyk.jpg",)),
        ("LAB", ("lab.tif",)),
        ("I;16", ("grey16.png",)),
        ("16 bits per channel", ("colour16.png",)),
        ("F", ("float.tif",)),
        ("several pictures", ("moving.gif", "moving.png", "pages.tif")),
        ("too large", ("bomb.png", "large.png", "wide.jpg")),
        ("vector graphics", ("drawing.jpg",)),
        ("not an image that Pillow knows", ("text.jpg",)),
        ("empty", ("empty.jpg",)),
        ("not a file", ("fifo.jpg",)),
        ("unreadable", ("dangling.jpg", "directory.jpg")),
    ],
)
def test_each_image_is_judged_by_what_it_is(
    verdicts: Mapping[str, SurveyedImage], reason: str, names: tuple[str, ...]
) -> None:
    assert {name: verdicts[name].reason for name in names} == dict.fromkeys(names, reason)


def test_sound_images_are_described_in_order(places: tuple[Path, ...], verdicts: Mapping[str, SurveyedImage]) -> None:
    assert [each.path for each in verdicts.values()] == list(places)
    sound = verdicts["sound.jpg"]
    assert (sound.format, sound.width, sound.height) == ("JPEG", *SIZE)
    assert sound.size_bytes == sound.path.stat().st_size
    assert verdicts["phone.jpg"].format == "JPEG"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_unreadable(tmp_path: Path) -> None:
    locked = tmp_path / "locked.jpg"
    locked.write_bytes(pictures()["sound.jpg"])
    locked.chmod(0)
    assert [each.reason for each in judge_images((locked,), PYTHON, {})] == ["unreadable"]


def test_an_image_that_kills_or_hangs_is_named(tmp_path: Path) -> None:
    site = fake_pil(tmp_path / "site", DYING_PIL)
    contents = (b"good", b"abort", b"good", b"hang", b"exit", b"good")
    images = [tmp_path / f"{number}.jpg" for number in range(len(contents))]
    for image, content in zip(images, contents, strict=True):
        image.write_bytes(content)
    found = judge_images(images, PYTHON, {}, site=(site,), patience=3.0)
    assert [each.path for each in found] == images
    reasons = ["", "kills the decoder: SIGABRT", "", "takes too long", "kills the decoder: exit code 3", ""]
    assert [each.reason for each in found] == reasons


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ('raise ModuleNotFoundError("no PIL", name="PIL")', CandidateOutcome.MISSING, "PIL"),
        (
            'raise ImportError("libjpeg.so.8: no such file")',
            CandidateOutcome.FAILED,
            "ImportError: libjpeg.so.8: no such file",
        ),
        ("import os; os.abort()", CandidateOutcome.CRASHED, "killed by SIGABRT"),
    ],
)
def test_a_broken_pillow_is_no_verdict_on_an_image(
    tmp_path: Path, text: str, outcome: CandidateOutcome, reason: str
) -> None:
    with pytest.raises(NotLoadedError) as caught:
        judge_images((tmp_path / "any.jpg",), PYTHON, {}, site=(fake_pil(tmp_path, text),))
    assert (caught.value.outcome, caught.value.reason) == (outcome, reason)


def fake_pil(site: Path, text: str) -> Path:
    """Write a package PIL whose `Image` module has this text; return the directory to put first on `sys.path`."""
    (site / "PIL").mkdir(parents=True)
    (site / "PIL/__init__.py").touch()
    (site / "PIL/Image.py").write_text(text)
    return site
