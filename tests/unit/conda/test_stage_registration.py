"""An environment's list of channels: fastinstall's first, then those that conda would use without a list."""

from pathlib import Path

from fastinstall.conda.stage import format_registration
from fastinstall.model.conda import Conda
from fastinstall.observe.conda.channels import channels_of_environment, usual_channels

PREFIX = Path("/srv/images/env")
OURS = "file:///srv/images/env/share/fastinstall/channel"


def _conda(*usual: str, configured: bool) -> Conda:
    return Conda(packages=(), unreadable={}, usual_channels=usual, has_channels=configured)


def test_what_conda_uses_anyway_is_named_below_ours(tmp_path: Path) -> None:
    (tmp_path / ".condarc").write_text("channels: [https://c.example/t/secret/private, bioconda, conda-forge]\n")
    (tmp_path / "env/condarc.d").mkdir(parents=True)
    (tmp_path / "env/condarc.d/own.yml").write_text("channels: [of-this-environment]\n")
    usual = usual_channels({"HOME": str(tmp_path)}, tmp_path / "env", None)
    assert usual == ("bioconda", "conda-forge"), "no credentials"
    file = tmp_path / "env/condarc.d/fastinstall.yml"
    file.write_text(format_registration(PREFIX, _conda(*usual, configured=True)))
    found = channels_of_environment(tmp_path / "env", {})
    assert found == ("of-this-environment", OURS, "bioconda", "conda-forge"), "the usual ones below all others"


def test_condas_own_default_stays_where_nothing_is_named() -> None:
    assert format_registration(PREFIX, _conda(configured=False)).endswith(
        f"channels:\n  - {OURS}\n  - defaults  #!bottom\n"
    )
    assert format_registration(PREFIX, _conda(configured=True)).endswith(f"channels:\n  - {OURS}\n")
