import shlex

from support.suite.golden import Golden
from support.values.builders import conda_package

from fastinstall.conda.reinstall import describe_unmet_requirements

PILLOW = conda_package(
    "pillow 12.1.1 py311_0",
    depends=("__glibc >=2.17", "conda-forge::libtiff >=4.7,<5", "libjpeg-turbo >=3.1.0,<4.0a0", "python 3.11.*"),
)
PYTHON = conda_package("python 3.11.7 h_0", depends=("openssl >=3",))
LIBRARIES = (conda_package("libtiff 4.7.1 h_0"), conda_package("libjpeg-turbo 3.1.2 h_0"))


def test_what_is_gone_is_told_with_the_command_that_brings_it(golden: Golden) -> None:
    (sentence,) = describe_unmet_requirements((PILLOW, PYTHON), {"pillow"}, "/srv/an env")
    command = shlex.split(sentence.rpartition(": ")[2])
    assert command == ["conda", "install", "--prefix", "/srv/an env", "libjpeg-turbo", "libtiff"]
    golden(sentence)


def test_met_requirements_and_other_packages_are_not_reported() -> None:
    assert not list(describe_unmet_requirements((PILLOW, PYTHON, *LIBRARIES), {"pillow"}, "/srv/env"))
    assert not list(describe_unmet_requirements((PYTHON,), {"pillow"}, "/srv/env"))
