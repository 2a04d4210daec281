"""The failures of the embedded model. Each carries what to do next."""


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


class ContextOverflow(LocalModelError):
    """The prompt does not fit the model's context. `prompt_tokens` and `context` count tokens; 0: unknown."""

    def __init__(self, prompt_tokens: int, context: int) -> None:
        super().__init__(
            f"The request has {prompt_tokens} tokens; the embedded model's context holds {context}.",
            "Shorten the conversation, or use a model with a larger context.",
        )
        self.prompt_tokens = prompt_tokens
        self.context = context


class RequestRefused(LocalModelError):
    """llama.cpp refused the request as it stands: asking again with the same request cannot work."""
