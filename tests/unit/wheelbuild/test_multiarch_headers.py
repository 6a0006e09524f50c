"""Headers that Debian keeps apart by architecture, where no pkg-config tells Pillow's setup.py of them."""

from pathlib import Path

import pytest
from support.values.build_requests import build_request

from fastinstall.wheelbuild import variables
from fastinstall.wheelbuild.variables import Flags, build_variables


@pytest.mark.parametrize(("there", "told"), [(True, 1), (False, 0)])
def test_a_build_is_told_of_them_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool, told: int
) -> None:
    directory = tmp_path if there else tmp_path / "absent"
    monkeypatch.setattr(variables, "_MULTIARCH", directory)
    request = build_request(tmp_path)
    flags = Flags(target=request.step.targets[0], jobs=1, preprocessor=(), linker=())
    assert list(build_variables(request, flags, "ar").values()).count(str(directory)) == told
