"""Time zones by the names that people and small models give them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from agent_chat.tools.errors import ToolError

MAX_LENGTH = 100
"""Characters of a name; no zone, city or country has more."""

_LOCAL = {"local", "localtime", "local time", "here", "system", "my time", "none", "null", "default"}
_OFFSET = re.compile(r"(?:(?:utc|gmt|z)\s*)?([+-−])\s*(\d{1,2})(?::?([0-5]\d))?", re.I)

# Abbreviations as people use them: "PST" in summer means the time in Los Angeles.
_ABBREVIATIONS = {
    "utc": "UTC", "z": "UTC", "zulu": "UTC", "gmt": "UTC",
    "et": "America/New_York", "est": "America/New_York", "edt": "America/New_York",
    "ct": "America/Chicago", "cst": "America/Chicago", "cdt": "America/Chicago",
    "mt": "America/Denver", "mst": "America/Denver", "mdt": "America/Denver",
    "pt": "America/Los_Angeles", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles",
    "bst": "Europe/London", "wet": "Europe/Lisbon", "west": "Europe/Lisbon",
    "cet": "Europe/Paris", "cest": "Europe/Paris", "eet": "Europe/Athens", "eest": "Europe/Athens",
    "msk": "Europe/Moscow", "ist": "Asia/Kolkata", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong",
    "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "aest": "Australia/Sydney", "aedt": "Australia/Sydney",
    "acst": "Australia/Adelaide", "awst": "Australia/Perth", "nzst": "Pacific/Auckland",
    "nzdt": "Pacific/Auckland", "brt": "America/Sao_Paulo", "art": "America/Argentina/Buenos_Aires",
    "sast": "Africa/Johannesburg",
}  # fmt: skip

# Large cities after which no zone is named; China, whose second zone is not an official one.
_PLACES = {
    "beijing": "Asia/Shanghai", "shenzhen": "Asia/Shanghai", "guangzhou": "Asia/Shanghai",
    "mumbai": "Asia/Kolkata", "delhi": "Asia/Kolkata", "new delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata", "bengaluru": "Asia/Kolkata", "chennai": "Asia/Kolkata",
    "hyderabad": "Asia/Kolkata", "osaka": "Asia/Tokyo", "kyoto": "Asia/Tokyo", "hanoi": "Asia/Ho_Chi_Minh",
    "abu dhabi": "Asia/Dubai", "tel aviv": "Asia/Jerusalem", "islamabad": "Asia/Karachi",
    "munich": "Europe/Berlin", "hamburg": "Europe/Berlin", "frankfurt": "Europe/Berlin",
    "cologne": "Europe/Berlin", "barcelona": "Europe/Madrid", "milan": "Europe/Rome",
    "geneva": "Europe/Zurich", "basel": "Europe/Zurich", "lyon": "Europe/Paris", "edinburgh": "Europe/London",
    "manchester": "Europe/London", "st petersburg": "Europe/Moscow", "saint petersburg": "Europe/Moscow",
    "new york city": "America/New_York", "nyc": "America/New_York", "washington": "America/New_York",
    "washington dc": "America/New_York", "boston": "America/New_York", "miami": "America/New_York",
    "philadelphia": "America/New_York", "atlanta": "America/New_York", "houston": "America/Chicago",
    "dallas": "America/Chicago", "austin": "America/Chicago", "san francisco": "America/Los_Angeles",
    "la": "America/Los_Angeles", "seattle": "America/Los_Angeles", "san diego": "America/Los_Angeles",
    "las vegas": "America/Los_Angeles", "silicon valley": "America/Los_Angeles",
    "rio de janeiro": "America/Sao_Paulo", "brasilia": "America/Sao_Paulo",
    "cape town": "Africa/Johannesburg", "china": "Asia/Shanghai",
    "canberra": "Australia/Sydney", "wellington": "Pacific/Auckland",
}  # fmt: skip


def find_zone(name: str, moment: datetime) -> tzinfo | None:
    """The zone that is meant; None for the local one. Raises `ToolError` with the nearest names.

    Understands IANA names in any case, cities, countries with one time at `moment`, the usual
    abbreviations, and offsets such as `UTC+9` and `+05:30`.
    """
    if len(name) > MAX_LENGTH:
        raise ToolError(
            f"unknown time zone {name[:MAX_LENGTH] + '…'!r}; use a name such as Europe/Paris or UTC+9"
        )
    wanted = " ".join(name.replace("_", " ").split()).strip(" .").lower()
    for ending in (" standard time", " time zone", " timezone", " time"):
        wanted = wanted.removesuffix(ending) or wanted
    if wanted in _LOCAL or not wanted:
        return None
    if offset := _OFFSET.fullmatch(wanted):
        return _fixed(name, *offset.groups())
    for candidate in (wanted, wanted.partition(",")[0].strip()):
        if key := _ABBREVIATIONS.get(candidate) or _PLACES.get(candidate.replace(".", "")):
            return _load(key)
        if zone := _exactly(name) or _named(candidate):
            return zone
        if zones := _countries().get(candidate):
            return _only_time(candidate, zones, moment)
    raise ToolError(_unknown(name, wanted))


def _fixed(name: str, sign: str, hours: str, minutes: str | None) -> tzinfo:
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset > timedelta(hours=14):
        raise ToolError(f"there is no time zone {name!r}: offsets go from -12:00 to +14:00")
    return timezone(offset if sign == "+" else -offset) if offset else UTC


def _exactly(name: str) -> tzinfo | None:
    return _load(name.strip()) if "/" in name else None


def _load(key: str) -> tzinfo | None:
    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _named(wanted: str) -> tzinfo | None:
    key = _by_name().get(wanted)
    return None if key is None else _load(key)


@cache
def _by_name() -> dict[str, str]:
    """Zones by their whole name and by the place at its end, in small letters and with blanks."""
    names = sorted(available_timezones())
    places = {key.rpartition("/")[2]: key for key in names if "/" in key and not key.startswith("Etc/")}
    return {name.replace("_", " ").lower(): key for name, key in [*places.items(), *((n, n) for n in names)]}


@cache
def _countries() -> dict[str, tuple[str, ...]]:
    """Zones by country, in small letters; the first zone of a country is that of most of its people."""
    codes = dict(_table("iso3166.tab"))
    zones: dict[str, tuple[str, ...]] = {}
    for code, key in _table("zone.tab"):
        country = codes.get(code, code).lower()
        zones[country] = (*zones.get(country, ()), key)
    for alias, country in _COUNTRY_ALIASES.items():
        zones[alias] = zones.get(country, ())
    return zones


_COUNTRY_ALIASES = {
    "uk": "britain (uk)", "united kingdom": "britain (uk)", "great britain": "britain (uk)",
    "england": "britain (uk)", "scotland": "britain (uk)", "us": "united states", "usa": "united states",
    "south korea": "korea (south)", "korea": "korea (south)", "north korea": "korea (north)",
    "holland": "netherlands", "czechia": "czech republic", "uae": "united arab emirates",
}  # fmt: skip


def _table(name: str) -> Iterable[tuple[str, str]]:
    """Country codes with the name of the country, or of a zone in it."""
    from importlib.resources import files

    text = files("tzdata").joinpath("zoneinfo", name).read_text("utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            cells = line.split("\t")
            yield cells[0], cells[-1] if len(cells) == 2 else cells[2]


def _only_time(country: str, zones: tuple[str, ...], moment: datetime) -> tzinfo | None:
    loaded = [zone for zone in map(_load, zones) if zone is not None]
    by_time: dict[timedelta | None, tzinfo] = {}
    for zone in loaded:
        by_time.setdefault(moment.astimezone(zone).utcoffset(), zone)
    if len(by_time) == 1:
        return loaded[0]
    some = ", ".join(str(zone) for zone in [*by_time.values()][:4])
    raise ToolError(f"{country} has several time zones; name one, such as {some}")


def _unknown(name: str, wanted: str) -> str:
    keys = {**_by_name(), **_PLACES}
    near = difflib.get_close_matches(wanted, keys, n=6, cutoff=0.75)
    names = list(dict.fromkeys(keys[match] for match in near))[:3]
    hint = f"did you mean {' or '.join(names)}?" if names else "use a name such as Europe/Paris or UTC+9"
    return f"unknown time zone {name!r}; {hint}"
