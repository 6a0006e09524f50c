"""Compares the model of the loader with the aarch64 loaders of two Debian releases, under qemu, on random forests."""

from pathlib import Path

import pytest

from differential.check_forests import ARM_RELEASES, compare_forest, make_arm_scene

FORESTS, CASES = 4, 12
"""`PYTHONPATH=tests python -m differential.check_forests 0 500 bookworm` compares more."""


@pytest.mark.parametrize("release", ARM_RELEASES)
def test_random_forests(tmp_path: Path, shared_cache: Path, release: str) -> None:
    (tmp_path / "parts").mkdir()
    parts, processors = make_arm_scene(tmp_path / "parts", shared_cache, release)
    compared = [
        (f"seed {seed}: {case}\n{difference}", difference)
        for seed in range(FORESTS)
        for case, difference in compare_forest(
            tmp_path / f"forest{seed}", parts, seed, cases=CASES, processors=processors
        )
    ]
    assert len(compared) == FORESTS * CASES
    assert not [text for text, difference in compared if difference]
