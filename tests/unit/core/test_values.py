"""A class made by `@immutable` behaves like a dataclass."""

from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace

import pytest

from fastinstall.core.values import immutable


@immutable
class Place:
    """A class made by `@immutable`."""

    name: str
    size: int = 3
    marks: dict[str, int] = field(default_factory=dict)
    secret: str = field(default="x", repr=False)

    @property
    def long(self) -> str:
        """Return a value computed from the fields."""
        return self.name * self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """The class `Place`, made by `dataclasses`."""

    name: str
    size: int = 3
    marks: dict[str, int] = field(default_factory=dict)
    secret: str = field(default="x", repr=False)


def test_it_is_made_by_keyword_with_defaults_of_its_own() -> None:
    one, other = Place(name="a"), Place(name="b", size=1)
    assert (one.name, one.size, one.marks, other.size) == ("a", 3, {}, 1)
    assert one.marks is not other.marks
    assert one.long == "aaa"


@pytest.mark.parametrize("given", [{}, {"size": 1}, {"name": "a", "other": 1}, {"name": "a", "size": 1, "x": 2}])
def test_missing_or_unknown_fields_are_refused_as_by_a_dataclass(given: dict[str, object]) -> None:
    for made in (Place, Usual):
        with pytest.raises(TypeError):
            made(**given)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError):
        Place("a")  # type: ignore[call-arg]  # wrong on purpose


def test_it_never_changes() -> None:
    place = Place(name="a")
    with pytest.raises(FrozenInstanceError):
        place.name = "b"  # type: ignore[misc]  # wrong on purpose
    with pytest.raises(FrozenInstanceError):
        del place.name
    with pytest.raises(FrozenInstanceError):
        place.other = 1  # type: ignore[attr-defined]  # wrong on purpose
    assert not hasattr(place, "__dict__")


def test_two_are_equal_whose_fields_are() -> None:
    assert Place(name="a") == Place(name="a")
    assert Place(name="a") != Place(name="b")
    assert Place(name="a") != Usual(name="a")  # type: ignore[comparison-overlap]  # wrong on purpose
    assert len({Hashable(name="a"), Hashable(name="a"), Hashable(name="b")}) == 2


@immutable
class Hashable:
    """A class whose fields are hashable."""

    name: str


@immutable
class Empty:
    """A class without fields."""


def test_values_without_fields_are_equal() -> None:
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_what_dataclasses_offers_works_on_it() -> None:
    place = Place(name="a", size=2)
    assert is_dataclass(place)
    assert [each.name for each in fields(place)] == [each.name for each in fields(Usual)]
    assert replace(place, size=4) == Place(name="a", size=4)
    assert repr(place) == repr(Usual(name="a", size=2)).replace("Usual", "Place")
