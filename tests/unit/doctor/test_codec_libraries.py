"""The owner of a library's file, judged by the file's path alone."""

from datetime import date
from pathlib import PurePath

import pytest
from support.values.builders import changed, healthy_facts, receipt, recipe

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.codec_libraries import describe_file_owner


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("{prefix}/lib/libz.so.1", "this environment's"),
        ("/opt/python/lib/libpython3.11.so.1.0", "the base interpreter's"),
        ("/usr/lib/x86_64-linux-gnu/libz.so.1", "the operating system's"),
        ("/home/ann/envs/other/lib/libz.so.1", "another environment's"),
        ("/data/libz.so.1", "from outside this environment"),
    ],
)
def test_a_file_is_told_by_where_it_lies(path: str, owner: str) -> None:
    facts = changed(healthy_facts(), {"interpreter": {"base_prefix": "/opt/python"}})
    context = CheckContext(
        facts=facts, receipt=receipt(), recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0"
    )
    assert describe_file_owner(context, PurePath(path.format(prefix=facts.environment.prefix))) == owner
