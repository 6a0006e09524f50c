"""Figures that pages tell of the code are those of the code."""

from support.docs.pages import ROOT

from fastinstall.proof.cases import operation_of
from fastinstall.proof.matrix_cases import MODES, matrix_cases
from fastinstall.proof.quick import QUICK
from whole_proof.run import WHOLE


def test_the_page_on_the_proof_counts_its_cases() -> None:
    page = " ".join((ROOT / "docs/explanation/proof.md").read_text("utf-8").split())
    quick, whole = matrix_cases(sizes=QUICK.sizes), matrix_cases(sizes=WHOLE.sizes)
    operations = len({operation_of(case) for case in whole})
    assert f"A setup tries {len(quick):,} of them on {len(QUICK.sizes)} sizes," in page
    assert f"{len(whole):,} on {len(WHOLE.sizes)}: {operations} operations, {len(MODES)} modes," in page


def test_readme_counts_them_by_ten_thousands() -> None:
    tens = round(len(matrix_cases(sizes=QUICK.sizes)), -4)
    assert f"Some {tens:,} small operations" in (ROOT / "README.md").read_text("utf-8")
