from pathlib import Path

from fastinstall.proof.cases import operation_of
from fastinstall.proof.matrix_cases import FEW_SIZES, MODES, matrix_cases
from whole_proof.run import SIZES

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "proof.md"


def test_the_page_says_how_many_cases_there_are() -> None:
    few, all_cases = matrix_cases(sizes=FEW_SIZES), matrix_cases(sizes=SIZES)
    operations = {operation_of(case) for case in all_cases}
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"A setup tries {len(few):,} of them on {len(FEW_SIZES)} sizes" in text
    assert f"{len(all_cases):,} on {len(SIZES)}: {len(operations)} operations, {len(MODES)} modes" in text
