from pathlib import Path

import pytest
from support.values.build_requests import offer_programs

from fastinstall.core.root_commands import find_root_prefix


@pytest.mark.parametrize(
    ("user", "programs", "prefix"),
    [(0, ("sudo",), ""), (0, (), ""), (1000, ("sudo",), "sudo "), (1000, (), "as root: ")],
)
def test_sudo_is_named_where_it_is_needed_and_installed(
    user: int, programs: tuple[str, ...], prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert find_root_prefix(offer_programs(tmp_path, *programs)) == prefix
