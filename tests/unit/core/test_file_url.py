from pathlib import Path, PurePosixPath

import pytest

from fastinstall.core.file_url import file_url


@pytest.mark.parametrize("path", ["/srv/channel", "/srv/a b#c%20?d", "/srv/größe", "/srv/\udcff", "/"])
def test_it_is_what_pathlib_says_of_a_path_of_this_machine(path: str) -> None:
    assert file_url(PurePosixPath(path)) == Path(path).as_uri()


def test_a_relative_path_has_none() -> None:
    with pytest.raises(ValueError, match="channel"):
        file_url(PurePosixPath("channel"))
