"""What is reported if packages with C headers cannot be fetched."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fastinstall.core.errors import FailedError
from fastinstall.model.artefact import Artefact
from fastinstall.setup.steps.prepare import PrivateHeaders


@pytest.mark.parametrize(
    ("python", "way"), [("3.14", "python3.14-dev"), ("", "fastinstall build -o DIR")], ids=["3.14", "free-threaded"]
)
def test_only_packages_that_a_system_has_are_named(
    python: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> None:
        raise FailedError("no route")

    header = Artefact(name="libpython3.14-dev", version="1", filename="x.deb", url="", sha256="0" * 64)
    step = PrivateHeaders(packages=(header.name,), libraries=(), python=python, artefacts=(header,), reason="")
    monkeypatch.setattr("fastinstall.setup.steps.prepare.find_package_manager", lambda _: "apt")
    run = SimpleNamespace(
        cache=tmp_path,
        index=SimpleNamespace(fetch=fetch),
        emit=repr,
        variables={},
        recipe=SimpleNamespace(libraries={}),
    )
    with pytest.raises(FailedError, match=r"libpython3\.14-dev cannot be fetched: no route") as caught:
        step.fetch_packages(run)  # type: ignore[arg-type]  # only the used parts
    assert way in (caught.value.hint or "")
    assert ("python3.14-dev" in (caught.value.hint or "")) is bool(python)
