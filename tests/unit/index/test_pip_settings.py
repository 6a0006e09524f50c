from dataclasses import replace
from pathlib import Path, PurePosixPath
from textwrap import dedent

import pytest
from builders import healthy_facts

from fastinstall.core.errors import RefusedError
from fastinstall.index.pip import PipSettings, argv_for, parse_settings, pip_environment

INTERPRETER = healthy_facts().interpreter


def test_no_configuration_means_the_default_index() -> None:
    assert parse_settings("") == PipSettings()


def test_every_setting_about_indexes_is_read() -> None:
    listing = dedent(
        """\
        global.index-url='https://mirror.example/simple'
        global.extra-index-url='https://one.example/simple\\nhttps://two.example/simple  file:///srv/simple'
        global.find-links='/srv/wheels'
        global.cert='/etc/company.pem'
        global.proxy='http://proxy.example:3128'
        global.trusted-host='one.example two.example:8080'
        global.no-index='true'
        :env:.default-timeout='42'
        """
    )

    assert parse_settings(listing) == PipSettings(
        index_url="https://mirror.example/simple",
        extra_index_urls=("https://one.example/simple", "https://two.example/simple", "file:///srv/simple"),
        find_links=("/srv/wheels",),
        certificate=Path("/etc/company.pem"),
        proxy="http://proxy.example:3128",
        trusted_hosts=("one.example", "two.example:8080"),
        no_index=True,
        timeout=42.0,
    )


def test_variables_go_before_the_install_section_and_that_before_the_global_one() -> None:
    listing = ":env:.index-url='env'\ninstall.index-url='install'\nglobal.index-url='global'\ninstall.proxy='install'"

    settings = parse_settings(listing)

    assert (settings.index_url, settings.proxy) == ("env", "install")


def test_sections_of_other_commands_and_further_lines_are_ignored() -> None:
    listing = "freeze.index-url='freeze'\nFor variant 'global', will try loading '/etc/pip.conf'\nglobal.timeout='soon'"

    assert parse_settings(listing) == PipSettings()


def test_a_value_with_quotes_is_read_as_python_writes_it() -> None:
    assert parse_settings('global.cert="/etc/it\'s.pem"').certificate == Path("/etc/it's.pem")


def test_credentials_do_not_show_in_the_settings_repr() -> None:
    url = "https://user:hunter2@mirror.example/simple"
    settings = PipSettings(index_url=url, extra_index_urls=(url,), find_links=(url,), proxy=url)

    assert "hunter2" not in repr(settings)


def test_pips_environment_keeps_settings_and_drops_what_leads_elsewhere() -> None:
    variables = {
        "PATH": "/usr/bin",
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PYTHONPATH": "/elsewhere",
        "PYTHONHOME": "/elsewhere",
        "PIP_TARGET": "/elsewhere",
        "_PIP_RUNNING_IN_SUBPROCESS": "1",
        "FASTINSTALL_GUARD": "1",
    }

    assert pip_environment(variables) == {
        "PATH": "/usr/bin",
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "FASTINSTALL_GUARD": "0",
        "PYTHONIOENCODING": "utf-8",
    }


def test_a_target_without_pip_is_served_by_the_tools_own() -> None:
    words = argv_for(replace(INTERPRETER, pip_version=None))

    assert words[1:] == ("-P", "-m", "pip", "--python", str(INTERPRETER.executable))


def test_a_target_too_old_for_the_tools_pip_is_served_by_its_own() -> None:
    old = replace(INTERPRETER, version="3.6.15", pip_version="18.1", executable=PurePosixPath("/old/bin/python"))

    assert argv_for(old) == ("/old/bin/python", "-I", "-m", "pip")


def test_a_target_too_old_and_without_pip_is_refused_with_a_way_out() -> None:
    with pytest.raises(RefusedError, match="too old") as refused:
        argv_for(replace(INTERPRETER, version="3.6.15", pip_version=None))

    assert refused.value.hint is not None
    assert "ensurepip" in refused.value.hint
