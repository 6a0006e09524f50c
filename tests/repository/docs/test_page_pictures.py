"""Pictures in the documentation agree with the text, and show nothing of the machine that made them."""

import re
from pathlib import Path

import pytest
from draw_speed import chart

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs" / "pictures"


def test_the_chart_shows_the_table_of_speeds() -> None:
    drawn = chart((ROOT / "docs/explanation/speed.md").read_text(encoding="utf-8"))
    assert (PICTURES / "speed.svg").read_text(encoding="utf-8") == drawn, "run: python docs/pictures/draw_speed.py"


def test_a_figure_is_drawn_as_long_as_it_is() -> None:
    page = (ROOT / "docs/explanation/speed.md").read_text(encoding="utf-8")
    page = re.sub(r"(encoding / decoding PNG \| [^|]+\|) [^|]+", r"\1 2.5 / 1.3 ", page)
    assert '<rect class="faster" x="250" y="296" width="45"' in chart(page)


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_fetches_nothing_and_names_no_machine(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    fetched = re.findall(r"\b(?:url|href|src)\s*[=(]\s*[\"']?([^\"')]+)", text)
    assert [address for address in fetched if not address.startswith("#")] == []
    assert re.findall(r"/(?:root|tmp|work)\b[^<]*", text) == []
