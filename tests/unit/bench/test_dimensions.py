"""The size of an image from its header, however much stands before it, and nothing from what is no image."""

import struct
from pathlib import Path

import pytest

from fastinstall.bench.image_search import SurveyedImage, read_dimensions

FRAME = b"\xff\xc2" + struct.pack(">HBHHB", 8, 8, 3000, 4000, 0)
LARGE = ("JPEG", 4000, 3000)
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 800, 600)


def _segment(marker: int, size: int) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", size) + b"\0" * (size - 2)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"\xff\xd8" + FRAME, LARGE),
        (b"\xff\xd8" + _segment(0xE1, 65535) * 3 + b"\xff\xff" + FRAME, LARGE),
        (b"\xff\xd8" + _segment(0xC4, 20) + FRAME, LARGE),
        (PNG, ("PNG", 800, 600)),
        (b"", None),
        (b"\xff\xd8", None),
        (b"\xff\xd8\xff\xda\0\x02" + b"\0" * 10, None),
        (b"\xff\xd8" + FRAME[:6], None),
        (PNG[:20], None),
        (b"\xff\xd8\xff\xc0" + struct.pack(">HBHHB", 8, 8, 0, 4000, 0), None),
        (b"GIF89a" + b"\0" * 30, None),
    ],
    ids=[
        *("jpeg", "much before", "a table before", "png", "empty", "nothing follows", "no frame", "cut", "png cut"),
        *("no height", "gif"),
    ],
)
def test_size_from_the_header(tmp_path: Path, content: bytes, seen: tuple[str, int, int] | None) -> None:
    file = tmp_path / "image"
    file.write_bytes(content)
    found = read_dimensions(file)
    assert (found and (found.format, found.width, found.height)) == seen


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    assert read_dimensions(tmp_path) is None
    assert read_dimensions(tmp_path / "gone") is None


def test_megapixels() -> None:
    assert SurveyedImage(path=Path("a.jpg"), width=4000, height=3000).megapixels == 12.0
