"""The one failure of the embedded model: it carries what to do next."""


class LocalModelError(Exception):
    """The embedded model cannot be resolved, fetched, loaded or run.

    `message` says what happened and why; `hint` says what to do next (may be empty). `str()` gives both.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message
