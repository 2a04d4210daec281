"""Writing to a standard stream: any encoding, and a reader that may go away."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import BinaryIO, TextIO

GONE = frozenset((errno.EPIPE, errno.ECONNRESET, errno.EIO, errno.EBADF))
"""The other end is not there any more: nobody is interested, and that is no failure."""


class Output:
    """One of the standard streams as bytes; never raises.

    Characters that the stream's encoding does not have are replaced by `?`. When the reader has gone,
    `gone` turns true and everything further is dropped; any other failure (a full disk) is in `error`.
    """

    def __init__(self, stream: TextIO | None, *, encoding: str | None = None) -> None:
        """`stream` is None where it was closed at the start. `encoding`: instead of the stream's own."""
        self._text = stream
        self._stream: BinaryIO | None = getattr(stream, "buffer", None)
        self.encoding = encoding or getattr(stream, "encoding", None) or "utf-8"
        self.gone = False
        self.error: OSError | None = None
        self.is_terminal = _is_terminal(stream)

    def write(self, text: str) -> None:
        """Writes and flushes."""
        if not text or self.gone or self.error is not None:
            return
        try:
            if self._stream is not None:
                self._stream.write(text.encode(self.encoding, "replace"))
                self._stream.flush()
            elif self._text is not None:
                self._text.write(text)
                self._text.flush()
        except OSError as error:
            if error.errno in GONE:
                self.gone = True
            else:
                self.error = error
            self._discard_rest()
        except ValueError:  # closed
            self.gone = True

    def line(self, text: str) -> None:
        self.write(f"{text}\n")

    def _discard_rest(self) -> None:
        """What stays in the buffer would make the interpreter complain when it flushes at its end."""
        stream = self._stream or self._text
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                null = os.open(os.devnull, os.O_WRONLY)
                try:
                    os.dup2(null, stream.fileno())
                finally:
                    os.close(null)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
