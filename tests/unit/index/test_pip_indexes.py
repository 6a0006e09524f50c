from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from support.values.builders import healthy_facts

from fastinstall.core.errors import RefusedError
from fastinstall.index.pip import PipSettings, argv_for, pip_environment, pip_settings

INTERPRETER = healthy_facts().interpreter


def read(prefix: Path, text: str, **variables: str) -> PipSettings:
    """Return the settings of a target with this pip.conf, and no other settings."""
    (prefix / "pip.conf").write_text(text)
    return pip_settings(prefix / "bin/python", {"HOME": str(prefix), "XDG_CONFIG_DIRS": str(prefix), **variables})


def test_no_configuration_means_the_default_index(tmp_path: Path) -> None:
    # pip's settings for this machine may name a certificate.
    assert replace(read(tmp_path, ""), certificate=None) == PipSettings()


def test_every_setting_about_indexes_is_read(tmp_path: Path) -> None:
    text = dedent(
        """\
        [global]
        index-url = https://mirror.example/simple
        extra_index_url = https://one.example/simple
            https://two.example/simple  file:///srv/simple
        --find-links = /srv/wheels
        cert = /etc/it's.pem
        proxy = http://proxy.example:3128
        trusted-host = one.example two.example:8080
        no-index = true
        """
    )

    assert read(tmp_path, text, PIP_DEFAULT_TIMEOUT="42") == PipSettings(
        index_url="https://mirror.example/simple",
        extra_index_urls=("https://one.example/simple", "https://two.example/simple", "file:///srv/simple"),
        find_links=("/srv/wheels",),
        certificate=Path("/etc/it's.pem"),
        proxy="http://proxy.example:3128",
        trusted_hosts=("one.example", "two.example:8080"),
        no_index=True,
        timeout=42.0,
    )


def test_variables_override_install_which_overrides_global(tmp_path: Path) -> None:
    text = "[install]\nindex-url = install\nproxy = install\n[global]\nindex-url = global\n"

    settings = read(tmp_path, text, PIP_INDEX_URL="env")

    assert (settings.index_url, settings.proxy) == ("env", "install")


def test_sections_of_other_commands_are_ignored(tmp_path: Path) -> None:
    settings = read(tmp_path, "[freeze]\nindex-url = freeze\n[global]\ntimeout = soon\n")

    assert replace(settings, certificate=None) == PipSettings()


def test_credentials_do_not_show_in_the_settings_repr() -> None:
    url = "https://user:hunter2@mirror.example/simple"
    settings = PipSettings(index_url=url, extra_index_urls=(url,), find_links=(url,), proxy=url)

    assert "hunter2" not in repr(settings)


def test_pips_environment_keeps_settings_but_no_redirections() -> None:
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
    old = replace(INTERPRETER, version="3.6.15", pip_version="18.1", executable=Path("/old/bin/python"))

    assert argv_for(old) == ("/old/bin/python", "-I", "-m", "pip")


def test_an_old_target_without_pip_is_refused_with_a_hint() -> None:
    with pytest.raises(RefusedError, match="too old") as refused:
        argv_for(replace(INTERPRETER, version="3.6.15", pip_version=None))

    assert refused.value.hint is not None
    assert "ensurepip" in refused.value.hint
