"""The garbage collector, kept away from what is loaded once and stays.

Loading makes objects by the hundred thousand and hardly any garbage; looking through them again and again
takes a sixth of a start.
"""

from __future__ import annotations

import gc


def pause() -> None:
    """While the program is loaded."""
    gc.disable()


def resume() -> None:
    """Once it is loaded: from here on only what is new is looked through."""
    gc.freeze()
    gc.enable()
