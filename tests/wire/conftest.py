"""Every model that a test opens is closed after it, on the loop that it was used on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.chat_models import close_all


@pytest.fixture(autouse=True)
async def models_are_closed() -> AsyncIterator[None]:
    yield
    await close_all()
