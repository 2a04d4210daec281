"""How many tokens of input models take, by the names that users call them."""

from __future__ import annotations

from agent_chat.core.errors import UserError
from agent_chat.models.deployments import Deployment, ModelConfig
from agent_chat.models.names import parse_name
from agent_chat.models.pricing import Pricing


class Windows:
    """Each name is looked up once: that may read LiteLLM's list of models, a matter of milliseconds."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._known: dict[str, int | None] = {}

    def of(self, name: str) -> int | None:
        """None where it is not known. Where larger models take over from `name` when the conversation does
        not fit it, what the largest of them takes."""
        if name not in self._known:
            own = self._own(name)
            larger = map(self._own, self._config.context_window_fallbacks(name))
            self._known[name] = own and max((own, *(window or 0 for window in larger)))
        return self._known[name]

    def _own(self, name: str) -> int | None:
        """The smallest of its deployments: nobody knows which will be asked."""
        deployments = self._config.deployments(name) or (Deployment(name, {"model": name}),)
        windows = [_window(deployment) for deployment in deployments]
        return min((window for window in windows if window), default=None)


def _window(deployment: Deployment) -> int | None:
    model = deployment.model.removeprefix("chaos/")
    if model.startswith("local/"):
        from agent_chat.local.catalog import CATALOG

        entry = CATALOG.get(model.removeprefix("local/").lower())
        return entry.context if entry else None
    try:
        model = parse_name(model, has_base=True).model
    except UserError:
        return None
    return Pricing(model, deployment.model_info).context_window
