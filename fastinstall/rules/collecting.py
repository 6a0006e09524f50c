"""Reports of many hosts, summed up: how many are well, which findings they share, whose state nobody knows. Pure."""

from collections.abc import Collection, Iterable, Iterator

from fastinstall.model.collected import Absence, Collected, HostReport, SharedFinding, Unreported
from fastinstall.model.finding import Remedy, Status
from fastinstall.rules.fleet_refusals import DAY
from fastinstall.rules.fleet_words import counted

_HINT = "examine it and collect its report: fastinstall doctor --json > HOST.json"
_ORDER = tuple(sorted(Status, key=lambda status: (-status.gravity, status.value)))


def sum_up(
    reports: Iterable[HostReport],
    unreported: Iterable[Unreported],
    *,
    expected: Collection[str],
    oldest: float | None,
    now: float,
) -> Collected:
    """Count hosts by status and gather what they share.

    Args:
        reports: in any order; several of one host count together.
        unreported: hosts whose documents say nothing of their state.
        expected: names of hosts that should have a report; empty where nobody said which.
        oldest: seconds since the epoch; older reports do not count. None counts all.
        now: likewise, for messages.
    """
    told = list(reports)
    current = [report for report in told if oldest is None or report.written >= oldest]
    hosts: dict[str, Status] = {}
    for report in current:
        hosts[report.host] = max(hosts.get(report.host, report.status), report.status, key=_weight)
    silent = [*unreported, *_old(told, hosts, now), *(each for report in current for each in _unobservable(report))]
    known = {*hosts, *(each.host for each in silent)}
    silent += [_missing(name) for name in sorted(set(expected) - known)]
    by_status = {status.value: _names(hosts, status) for status in _ORDER if status in hosts.values()}
    statuses = {*hosts.values(), *((Status.UNKNOWN,) if silent else ())}
    return Collected(
        summary=_summary(by_status, silent),
        status=max(statuses, key=_weight, default=Status.UNKNOWN),
        hosts=by_status,
        findings=_gathered(current),
        unreported=tuple(sorted(silent, key=lambda each: (each.host, each.reason))),
        unexpected=tuple(sorted(hosts.keys() - set(expected))) if expected else (),
    )


def _gathered(reports: Iterable[HostReport]) -> tuple[SharedFinding, ...]:
    hosts: dict[tuple[Status, str, str], set[str]] = {}
    remedies: dict[tuple[Status, str, str], Remedy | None] = {}
    for report in reports:
        for finding in report.findings:
            key = (finding.status, finding.check, finding.message)
            hosts.setdefault(key, set()).update(finding.hosts)
            remedies.setdefault(key, finding.remedy)
    ordered = sorted(hosts, key=lambda key: (-key[0].gravity, -len(hosts[key]), *key))
    return tuple(
        SharedFinding(
            check=check, status=status, message=message, hosts=tuple(sorted(hosts[key])), remedy=remedies[key]
        )
        for key in ordered
        for status, check, message in (key,)
    )


def _old(reports: Iterable[HostReport], current: Collection[str], now: float) -> Iterator[Unreported]:
    """Hosts of which there are old reports only, each by its latest."""
    latest: dict[str, HostReport] = {}
    for report in reports:
        if report.host not in current:
            latest[report.host] = max(latest.get(report.host, report), report, key=lambda each: each.written)
    for host, report in latest.items():
        reason = f"its report ({report.status}) is {(now - report.written) / DAY:.0f} days old"
        yield Unreported(host=host, absence=Absence.OLD, reason=reason, hint=_HINT)


def _unobservable(report: HostReport) -> Iterator[Unreported]:
    for reason in report.unobservable:
        yield Unreported(host=report.host, absence=Absence.UNOBSERVABLE, reason=reason, hint=_HINT)


def _missing(host: str) -> Unreported:
    return Unreported(host=host, absence=Absence.MISSING, reason="there is no report of it", hint=_HINT)


def _names(hosts: dict[str, Status], status: Status) -> tuple[str, ...]:
    return tuple(sorted(name for name, each in hosts.items() if each is status))


def _summary(by_status: dict[str, tuple[str, ...]], silent: list[Unreported]) -> str:
    told = [f"{len(names):,} {status}" for status, names in by_status.items()]
    reported = sum(len(names) for names in by_status.values())
    without = len({each.host for each in silent})
    return f"{counted(reported, 'host')} with a report: {', '.join(told) or 'none'}; {without:,} without one"


def _weight(status: Status) -> tuple[int, bool]:
    """By gravity; of two that weigh alike, the one that was determined."""
    return status.gravity, status in {Status.ERROR, Status.WARNING, Status.HINT, Status.OK}
