"""The tests take only index access from the machine's pip settings."""

from pathlib import Path

from support.index.settings import hide_further_settings
from support.journal.environments import in_own_mounts

_OF_THE_HOUSE = "[global]\ncert = /etc/house.pem\nconstraint = /etc/house.txt\n[install]\nuser = true\n"


def test_tests_take_only_index_access_from_global_pip_settings(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(_OF_THE_HOUSE)

    def hide() -> None:
        assert hide_further_settings(file) == ""
        seen = file.read_text()
        assert "house.pem" in seen
        assert "house.txt" not in seen
        assert "user" not in seen

    in_own_mounts(hide)
    assert file.read_text() == _OF_THE_HOUSE, "the machine keeps its own"
