"""The words that `conda fastinstall` passes on to fastinstall: conda's own flags are left out."""

import pytest

from fastinstall.conda_hooks import _split_prefix


@pytest.mark.parametrize(
    ("words", "kept", "prefix"),
    [
        (("doctor", "--quick"), ("doctor", "--quick"), None),
        (("doctor", "-p", "/srv/env", "--quick"), ("doctor", "--quick"), "/srv/env"),
        (("-p", "/srv/env", "doctor"), ("doctor",), "/srv/env"),
        (("doctor", "--prefix=/srv/my env"), ("doctor",), "/srv/my env"),
        (("doctor", "--prefix", "/one", "-p", "/two"), ("doctor",), "/two"),
        (("plan", "-o", "-p.json"), ("plan", "-o", "-p.json"), None),
    ],
)
def test_a_prefix_is_read_as_conda_reads_it(words: tuple[str, ...], kept: tuple[str, ...], prefix: str | None) -> None:
    assert _split_prefix(words) == (kept, prefix)
