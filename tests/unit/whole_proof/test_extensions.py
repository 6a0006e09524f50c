from fastinstall.core.directories import recipes_directory
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.proof.cases import operation_of
from fastinstall.proof.matrix_cases import FEW_SIZES, matrix_cases
from whole_proof.extensions import list_operations


def test_operations_have_variants_if_kernels_choose_at_load_time() -> None:
    file = recipes_directory() / "pillow-fast.toml"
    operations = list_operations(parse_recipe(file.read_text(), file))
    assert {"resize", "filter-5x5"} <= set(operations)
    assert "split" not in operations
    assert any(operation_of(case).startswith(operations) for case in matrix_cases(sizes=FEW_SIZES))
