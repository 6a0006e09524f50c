"""A session that is independent of the user: with a home of the test, and no other variables."""

from pathlib import Path

from fastinstall.core.directories import recipes_directory
from fastinstall.observe.session import Session


def a_session(home: Path, **variables: str) -> Session:
    """Return a session for a test."""
    return Session(
        variables={"HOME": str(home), **variables},
        recipe_directories=(recipes_directory(),),
        tool_prefix=home / "tool",
    )
