"""Names of distributions in requirements. Pure."""

import re


def named_in(requirement: str) -> str:
    """The normalised name that a requirement begins with (PEP 503, PEP 508); empty where it has none."""
    found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return re.sub(r"[-_.]+", "-", found[1]).lower() if found else ""
