"""The time, in the zones that people and small models name."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from support.tools import call

from agent_chat.core.observation import ToolResult
from agent_chat.tools.builtin.clock import clock_tools

SUMMER = datetime(2025, 7, 1, 13, 0, tzinfo=UTC)


class FixedClock:
    def now(self) -> float:
        return SUMMER.timestamp()

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing here waits")


async def now(timezone: str | None = None) -> ToolResult:
    (tool,) = clock_tools(FixedClock(), ZoneInfo("Europe/Berlin"))
    return await call(tool, **({} if timezone is None else {"timezone": timezone}))


@pytest.mark.parametrize("timezone", [None, "", "local", "Local time", "None", "here"])
async def test_the_users_own_time(timezone: str | None) -> None:
    assert (await now(timezone)).content == "2025-07-01T15:00:00+02:00 (Tuesday)"


async def test_the_machines_time_where_no_zone_is_given() -> None:
    (tool,) = clock_tools(FixedClock())
    told = (await call(tool)).content
    assert datetime.fromisoformat(told.partition(" ")[0]) == SUMMER


@pytest.mark.parametrize(
    ("timezone", "told"),
    [
        ("Asia/Tokyo", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("asia/tokyo", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("Tokyo", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("Tokyo, Japan", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("Tokyo time", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("JST", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Tokyo)"),
        ("UTC+9", "2025-07-01T22:00:00+09:00 (Tuesday, UTC+09:00)"),
        ("GMT +9:00", "2025-07-01T22:00:00+09:00 (Tuesday, UTC+09:00)"),
        ("+05:30", "2025-07-01T18:30:00+05:30 (Tuesday, UTC+05:30)"),
        ("UTC−3:30", "2025-07-01T09:30:00-03:30 (Tuesday, UTC-03:30)"),
        ("utc", "2025-07-01T13:00:00+00:00 (Tuesday, UTC)"),
        ("Z", "2025-07-01T13:00:00+00:00 (Tuesday, UTC)"),
        ("UTC+0", "2025-07-01T13:00:00+00:00 (Tuesday, UTC)"),
        ("new_york", "2025-07-01T09:00:00-04:00 (Tuesday, America/New_York)"),
        ("New York", "2025-07-01T09:00:00-04:00 (Tuesday, America/New_York)"),
        ("San Francisco", "2025-07-01T06:00:00-07:00 (Tuesday, America/Los_Angeles)"),
        ("PST", "2025-07-01T06:00:00-07:00 (Tuesday, America/Los_Angeles)"),
        ("Germany", "2025-07-01T15:00:00+02:00 (Tuesday, Europe/Berlin)"),
        ("UK", "2025-07-01T14:00:00+01:00 (Tuesday, Europe/London)"),
        ("South Korea", "2025-07-01T22:00:00+09:00 (Tuesday, Asia/Seoul)"),
        ("China", "2025-07-01T21:00:00+08:00 (Tuesday, Asia/Shanghai)"),
        ("Kiritimati", "2025-07-02T03:00:00+14:00 (Wednesday, Pacific/Kiritimati)"),
    ],
)
async def test_other_places(timezone: str, told: str) -> None:
    assert await now(timezone) == ToolResult(told)


@pytest.mark.parametrize(
    ("timezone", "part"),
    [
        ("Tokio", "did you mean Asia/Tokyo"),
        ("Europe/Pariss", "did you mean Europe/Paris"),
        ("Atlantis-on-Sea", "use a name such as Europe/Paris or UTC+9"),
        ("USA", "usa has several time zones; name one, such as America/New_York"),
        ("UTC+25", "offsets go from -12:00 to +14:00"),
        ("../../etc/passwd", "unknown time zone"),
        ("/etc/passwd", "unknown time zone"),
        ("Europe", "unknown time zone"),
        ("x" * 5000, "unknown time zone"),
    ],
)
async def test_zones_that_do_not_exist(timezone: str, part: str) -> None:
    result = await now(timezone)
    assert not result.ok
    assert part in result.content
    assert len(result.content) < 300
