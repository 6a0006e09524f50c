"""Compares the model of the loader with the real loader, on the extension modules of a few real wheels."""

from pathlib import Path

import pytest

from differential.check_wheels import compare_modules, unpack

PACKAGES = ("pillow", "psycopg2-binary", "pyzmq", "shapely", "simplejpeg")
"""Small wheels with bundled libraries; `PYTHONPATH=tests python -m differential.check_wheels` compares many more."""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return unpack(PACKAGES, tmp_path_factory.mktemp("wheels"))


def test_link_maps_are_as_predicted(trees: list[Path]) -> None:
    compared = {tree.name: compare_modules(tree) for tree in trees}
    assert len(compared) == len(PACKAGES)
    assert all(comparison.modules for comparison in compared.values())
    assert [difference for comparison in compared.values() for difference in comparison.differences] == []
