"""Look up the files for a recipe in package indexes, a wheelhouse or the cache, and fetch them.

This is not a resolver: the planner chooses which of the offered versions is built.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed, ignore
from fastinstall.core.files import sha256
from fastinstall.core.messages import listing
from fastinstall.core.secrets import HIDDEN, remove_credentials
from fastinstall.core.values import immutable
from fastinstall.index import downloads
from fastinstall.index.header_packages import read_header_packages
from fastinstall.index.pip import PipSettings, local_path
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Recipe

_MOST_BROUGHT = 4
"""The greatest number of our wheels that are fetched from indexes, the newest first; a wheelhouse may supply more."""

_FILL_HINT = "fill a wheelhouse on a machine with a network: fastinstall build -o DIR; then --offline --wheelhouse DIR"


@immutable
class PackageIndex:
    """The places that files come from: indexes, a wheelhouse and our cache.

    Attributes:
        settings: pip's settings, which may name a company's mirror; or a function that returns the settings, called
            only when they are needed.
        wheelhouse: a directory of sdists and wheels; its files are preferred to those of an index.
        offline: ask no index; take files only from the wheelhouse and the cache.
        cache: our cache directory. An offline run takes from this directory only files that were downloaded from the
            indexes and `find-links` of `settings`.
    """

    settings: PipSettings | Callable[[], PipSettings]
    wheelhouse: Path | None = None
    offline: bool = False
    cache: Path | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the indexes and `find-links` that pip is configured for."""
        return self._read_settings().places

    def releases(self, recipe: Recipe, interpreter: Interpreter, builder: Interpreter | None = None) -> Releases:
        """Return the files that are offered for a recipe and a target: sources, official wheels, and our wheels.

        Args:
            recipe: names the distributions.
            interpreter: the target's Python.
            builder: a Python of the building machine, for which compilers are looked up; None if the target is on that
                machine.

        Raises:
            DocumentError: the wheelhouse's `SHA256SUMS` cannot be read.
            FailedError: an index cannot be reached, a file of the wheelhouse is damaged, or there is nothing to build
                from.
            RefusedError: an index uses no HTTPS and is not trusted.
        """
        found = self.releases_for((recipe,), interpreter, builder)[recipe.name]
        if not found.sources and not found.prebuilt:
            raise self._make_nothing_found_error(recipe, interpreter)
        return found

    def releases_for(
        self, recipes: Sequence[Recipe], interpreter: Interpreter, builder: Interpreter | None = None
    ) -> dict[str, Releases]:
        """Return the files that are offered for each recipe, by the recipe's name; look up each distribution once.

        Raises:
            DocumentError: the wheelhouse's `SHA256SUMS` cannot be read.
            FailedError: an index cannot be reached, or a file of the wheelhouse is damaged.
            RefusedError: an index uses no HTTPS and is not trusted.
        """
        from fastinstall.index import selection  # slow to import, needed only for lookups

        choice = selection.make_choice(recipes, interpreter, builder)
        wanted = choice.is_wanted
        local = tuple(self._list_local_files(wanted))
        sources = ((each.source.pypi, each.source.base_wheel, *selection.ingredients_of(each)) for each in recipes)
        names = tuple(dict.fromkeys((*(name for each in sources for name in each), *list_wheel_compilers())))
        remote = () if self.offline else self._ask(names, wanted)
        official = tuple(artefact for artefact in remote if not _is_local(artefact))
        built, headers = (*local, *self._fetch_own_wheels(recipes, remote)), self._list_header_packages()
        return {
            recipe.name: replace(
                selection.select(
                    (*_select_built_by(recipe, built), *official), recipe, choice.tags, origin=self._describe_origin()
                ),
                headers=headers,
            )
            for recipe in recipes
        }

    def fetch(self, artefact: Artefact, cache: Path, emit: Emit) -> Path:
        """Return the path of a file in our cache after verifying its hash; fetch the file if it is absent.

        A file that no index offers was given by the user for this run only: its copy in the cache is removed when this
        process ends.

        Raises:
            FailedError: the file cannot be fetched, its hash is wrong, or the cache cannot be written.
            RefusedError: the file's server uses no HTTPS and is not trusted.
        """
        return downloads.find_stored_file(cache, artefact) or self._bring(artefact, cache, emit)

    def _bring(self, artefact: Artefact, cache: Path, emit: Emit) -> Path:
        nearby = self._find_nearby(artefact)
        if nearby is not None:
            space = cache if artefact.index else downloads.private_space(cache)
            return downloads.find_stored_file(space, artefact) or downloads.store_download(
                space, artefact, partial(downloads.copy_local_file, nearby)
            )
        if self.offline:
            place = "the wheelhouse and the cache" if self.wheelhouse else "the cache"
            raise FailedError(f"offline, and {artefact.filename} is not in {place}", hint=_FILL_HINT)
        failures: list[FailedError] = []
        for address in (self._find_address(artefact), *artefact.mirrors):
            try:
                return downloads.store_download(cache, artefact, partial(self._download, emit, address, artefact.size))
            except downloads.CacheNotWritableError:
                raise  # a mirror would not help: the cache is not writable
            except FailedError as error:
                failures.append(error)
        raise failures[0]

    def _list_header_packages(self) -> dict[str, Artefact]:
        """List the packages of C headers that can be fetched; if offline, only those in the cache or the wheelhouse."""
        known = read_header_packages().artefacts()
        if not self.offline:
            return known
        return {
            key: each
            for key, each in known.items()
            if self._find_nearby(each) or (self.cache is not None and downloads.find_stored_file(self.cache, each))
        }

    def _find_address(self, artefact: Artefact) -> str:
        """Return the URL of a file; if the saved URL has its token hidden, ask the indexes for the full URL."""
        if HIDDEN not in artefact.url:
            return artefact.url
        found = self._ask((artefact.name,), artefact.filename.__eq__)
        return next((each.url for each in found if each.sha256 == artefact.sha256), artefact.url)

    def _list_local_files(self, wanted: Callable[[str], bool]) -> Iterable[Artefact]:
        # Slow to import, needed only for lookups.
        from fastinstall.index.wheelhouse import describe_file, read_wheelhouse

        if self.wheelhouse is not None:
            yield from read_wheelhouse(self.wheelhouse, wanted)
        if self.offline and self.cache is not None:
            for path, index in downloads.list_offered_files(self.cache, wanted, self.places):
                yield replace(describe_file(path, path.parent.name), index=index)  # the directory is named by the hash

    def _ask(self, names: Sequence[str], wanted: Callable[[str], bool]) -> tuple[Artefact, ...]:
        from fastinstall.index import client  # imports the HTTP client, which is needed only to ask an index

        offered = client.ask_indexes(self._read_settings(), names, wanted)
        if self.cache is not None:
            downloads.record_offers(self.cache, offered)
        return offered

    def _fetch_own_wheels(self, recipes: Sequence[Recipe], remote: Iterable[Artefact]) -> Iterator[Artefact]:
        """Fetch and yield the newest of our wheels that indexes offer: only a wheel's content names its recipe."""
        from fastinstall.index import selection, wheelhouse  # slow to import, needed only for lookups

        if self.cache is None:
            return
        labels = frozenset(recipe.source.label for recipe in recipes)
        for artefact in selection.select_newest_labelled(filter(_is_local, remote), labels, _MOST_BROUGHT):
            path = self.fetch(artefact, self.cache, ignore).absolute()
            with downloads.discarding_refused(path):
                yield replace(wheelhouse.describe_file(path), index=artefact.index)

    def _find_nearby(self, artefact: Artefact) -> Path | None:
        if artefact.url.startswith("file:"):
            return local_path(artefact.url)
        path = self.wheelhouse / artefact.filename if self.wheelhouse else None
        return path if path and path.is_file() and sha256(path) == artefact.sha256 else None

    def _download(self, emit: Emit, url: str, size: int, path: Path) -> None:
        from fastinstall.index.client import Web  # imports the HTTP client, which is needed only for a download

        def report(done: int, total: int) -> None:
            emit(Progressed(stage="download", done=done, total=total))

        with closing(Web(self._read_settings())) as web:
            web.download(url, path, report, size)

    def _read_settings(self) -> PipSettings:
        return self.settings if isinstance(self.settings, PipSettings) else self.settings()

    def _describe_origin(self) -> str:
        places = [f"the wheelhouse {self.wheelhouse}"] if self.wheelhouse else []
        places += [] if self.offline else ["the package index"]
        places += [f"the download cache {self.cache}"] if self.offline and self.cache else []
        return " and ".join(places) or "nowhere (offline, and no wheelhouse)"

    def _make_nothing_found_error(self, recipe: Recipe, interpreter: Interpreter) -> FailedError:
        """Return an error that names the searched places, and the wheels skipped because another recipe built them."""
        from fastinstall.index import selection, wheelhouse  # slow to import, needed only for lookups

        wanted = selection.make_choice((recipe,), interpreter).is_wanted
        local = [(each.filename, wheelhouse.recipe_of(local_path(each.url))) for each in self._list_local_files(wanted)]
        passed_over = (
            f"skipped {filename}: the recipe {built_by!r} built it"
            for filename, built_by in local
            if built_by not in ("", recipe.name)
        )
        urls = () if self.offline else self._read_settings().urls
        names = " or ".join(dict.fromkeys((recipe.source.pypi, *recipe.replaces)))
        return FailedError(
            f"found neither an sdist of {recipe.source.pypi} nor a wheel of ours ({names}): "
            f"looked in {self._describe_origin()}",
            hint=_FILL_HINT if self.offline else "run python -m pip config list to see which index is used",
            details=(
                *(f"asked: {remove_credentials(url)}" for url in urls if url),
                *passed_over,
                *self._explain_unoffered(wanted),
            ),
        )

    def _explain_unoffered(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield, for each cached file that an offline run could use but skips, a sentence with the reason."""
        if not self.offline or self.cache is None:
            return
        for each in downloads.list_stored_files(self.cache, wanted):
            if not each.indexes:
                reason = "which index offered it is not on record; a run with a network notes it"
            elif not each.find_index(self.places):
                reason = f"it is from {listing(each.indexes)}, which pip is not configured for here"
            else:
                continue
            yield f"skipped {each.path.name} of the cache: {reason}"


def _select_built_by(recipe: Recipe, artefacts: Iterable[Artefact]) -> Iterator[Artefact]:
    """Yield all files except our wheels from another recipe: a wheel's label alone does not identify its recipe."""
    from fastinstall.index.wheelhouse import recipe_of  # slow to import, needed only for lookups

    for artefact in artefacts:
        if not _is_local(artefact) or recipe_of(local_path(artefact.url)) in ("", recipe.name):
            yield artefact


def _is_local(artefact: Artefact) -> bool:
    """Return whether an artefact has a local version (PEP 440), as our wheels have and official files never have."""
    return "+" in artefact.version
