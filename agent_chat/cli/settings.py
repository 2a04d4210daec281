"""The settings: what can be configured, with its type, its default and what it means.

The docstring below a field is its documentation: `agent-chat config keys` and docs/configuration.md are made
of them. Everything outside `agent` is LiteLLM's own format; it is checked where we depend on it and kept as
it is.
"""

# Annotations stay real types: this file is read at every start, and evaluating them takes milliseconds.
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from agent_chat.core.budget import Limits
    from agent_chat.engine.runtime import Rules
    from agent_chat.models.build import RequestOptions

Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]
# YAML gives lists, and a strict tuple would refuse them.
Names = Annotated[tuple[Text, ...], Field(strict=False)]

Transport = Literal["auto", "direct", "litellm"]
Color = Literal["auto", "always", "never"]
Mode = Literal["ask", "accept-edits", "plan", "auto"]
OnDenied = Literal["continue", "stop"]


class _Section(BaseModel):
    # Nested schemas are built once, inside the outermost one.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class RoleSettings(_Section):
    """Which model does what: a name of `model_list`, `provider/model`, `local/NAME` or `local:FILE.gguf`."""

    main: Text | None = None
    """The model that answers. Where none is named, one is chosen: see "Which model answers"."""
    small: Text | None = None
    """The model for small jobs: summaries and titles. Where none is named, the main model writes summaries,
    and a session is named after its first message."""


class LimitSettings(_Section):
    """Upper bounds; `null` is no bound."""

    max_iterations: Count | None = None
    """Model calls."""
    max_tool_calls: CountOrZero | None = None
    """Tool calls."""
    max_tokens: Count | None = None
    """Prompt and completion tokens together."""
    max_cost: Dollars | None = None
    """US dollars. Where a model's price is unknown this cannot be enforced, and that is said."""
    max_time: Seconds | None = None
    """Seconds."""

    def to_limits(self) -> "Limits":
        from agent_chat.core.budget import Limits

        return Limits(self.max_iterations, self.max_tool_calls, self.max_tokens, self.max_cost, self.max_time)


class TurnLimitSettings(LimitSettings):
    """Upper bounds of one turn: a user message up to its answer."""

    max_iterations: Count | None = 50
    """Model calls of a turn."""


class ScopedLimits(_Section):
    """Where limits apply. A turn that reaches one ends with what is known so far."""

    turn: TurnLimitSettings = TurnLimitSettings.model_construct()
    """Bounds of one turn; `--max-iterations` and its siblings set these."""
    session: LimitSettings = LimitSettings.model_construct()
    """Bounds of the whole session."""


class RuleSettings(_Section):
    """When a turn stops by itself, and how much of anything there may be."""

    max_invalid: Count = 3
    """Iterations in a row without one tool call that could be run, after which the turn stops."""
    max_repeats: Count = 4
    """Iterations in a row with the same calls and the same results, after which the turn stops."""
    max_continuations: CountOrZero = 2
    """How often an answer that hit the output limit is continued."""
    max_parallel: Count = 16
    """Tools that only read and run at the same time."""
    result_limit: Annotated[int, Field(ge=200)] = 16_000
    """Characters of a tool result that the model is shown; the whole result is kept."""
    summary_tokens: Count = 800
    """Output limit, in tokens, of the summary with which a turn ends that reached a limit."""


class ContextSettings(_Section):
    """How room is made in the context window; see docs/context.md."""

    window: Count | None = None
    """Tokens of input that the model takes; where it is not set, what `model_info` or LiteLLM's list says.
    Where nothing does, room is made only when a request turns out to be too long."""
    compact_at: Share | None = 0.8
    """The share of the window from which on a summary replaces the older messages; `null` is never."""
    thin_at: Share | None = 0.6
    """The share of the window from which on old tool results are cut; `null` is never."""
    keep_turns: Count = 2
    """The last turns, which stay word for word beside a summary, as far as they fit."""
    keep_iterations: CountOrZero = 10
    """The last iterations, whose tool results are not cut."""
    thinned_to: Annotated[int, Field(ge=200)] = 1_000
    """Characters that an old tool result is cut to; the model can read the whole again with `read_result`."""


class RequestSettings(_Section):
    """How models are asked. What is set here wins over LiteLLM's settings, also over those of one model."""

    connect_timeout: Seconds | None = None
    """Seconds to reach the model's server; 10 where nothing says otherwise."""
    idle_timeout: Seconds | None = None
    """Seconds without data after which a request counts as stalled; 300 where nothing says otherwise."""
    retries: Annotated[int, Field(ge=0, le=100)] | None = None
    """How often a failed request is tried again; 2 where nothing says otherwise."""
    max_retry_wait: Seconds | None = None
    """Seconds that a provider may ask us to wait; 60 where nothing says otherwise. Beyond them the request
    fails or falls back."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    """Sampling temperature; the provider's own where it is not set."""
    max_output_tokens: Count | None = None
    """Output limit of one reply, in tokens."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    """How much a reasoning model thinks; the provider's own where it is not set."""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Extra HTTP headers of every request."""


class WebSettings(_Section):
    """How the tools `fetch_url` and `web_search` reach the web."""

    allow_private: bool = False
    """Whether `fetch_url` may reach this machine and private networks too."""
    search: Literal["auto", "brave", "tavily", "searxng", "none"] = "auto"
    """Who searches for `web_search`: `auto` takes Brave or Tavily where BRAVE_API_KEY or TAVILY_API_KEY is
    set, else the SearXNG server of `search_url`. With none of them the tool is not offered."""
    search_url: Text | None = None
    """Address of a SearXNG server, or of a stand-in for the provider that `search` names."""


class ToolSettings(_Section):
    """Which tools a session has."""

    allow: Names = (
        "now",
        "calc",
        "read_file",
        "list_files",
        "search_text",
        "write_file",
        "edit_file",
        "shell",
        "fetch_url",
        "web_search",
        "read_result",
        "ask_user",
        "end_chat",
        "mcp__*",
    )
    """The tools that the model may call, by name; `mcp__NAME__*` is all that an MCP server has. Nothing else
    is allowed."""
    web: WebSettings = WebSettings.model_construct()
    """How tools reach the web."""


class McpSettings(_Section):
    """MCP servers; see docs/mcp.md. Which there are stands in `mcp.json`."""

    start_timeout: Seconds = 10.0
    """Seconds until a server must be ready, where its entry says nothing else."""
    max_characters: CountOrZero = 50_000
    """Characters that the descriptions of all their tools may take of every request, about 10 % of a context
    of 128,000 tokens. Beyond it the model is given `find_tools`, and what that finds."""


_LATER_RUN = ("**/.git/**", "**/.agent-chat/**", ".mcp.json")
_ASKED = tuple(f"{tool}({path})" for path in _LATER_RUN for tool in ("write_file", "edit_file"))
_DENIED = (
    "shell(rm -rf / *)",
    "shell(rm -rf /? *)",
    "shell(rm -rf ~ *)",
    "shell(rm -rf ~/ *)",
    "shell(mkfs* *)",
    "shell(dd * of=/dev/* *)",
    "shell(shutdown *)",
    "shell(reboot *)",
)


class PermissionSettings(_Section):
    """What may run without asking; see docs/permissions.md. The lists of all files and options add up."""

    allow: Names = ()
    """Rules of what runs without asking, such as `shell(git status)`; `--allow` adds one."""
    ask: Names = _ASKED
    """Rules of what is asked for each time, also where a rule allows it."""
    deny: Names = _DENIED
    """Rules of what never runs, whatever else allows it; `--deny` adds one."""
    mode: Mode = "ask"
    """What happens without a rule: `ask` for everything with effects, `accept-edits` changes files of the
    workspace unasked, `plan` only reads, `auto` runs unasked what the sandbox holds."""
    on_denied: OnDenied = "continue"
    """Whether a turn goes on after a denial by a rule, or for want of somebody to ask, or stops."""


class SandboxSettings(_Section):
    """What holds the commands that `shell` runs."""

    confinement: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """What they are confined with; `auto` takes the best that works here."""
    network: bool = False
    """Whether they may use the network."""
    pass_env: Names = ()
    """Variables that they get although they look like secrets, by name."""


class SessionSettings(_Section):
    """How sessions are kept."""

    keep: bool = True
    """Whether sessions are kept, to be continued with `-c` and `-r`."""


class DisplaySettings(_Section):
    """What is shown, and how."""

    color: Color = "auto"
    """Colors: `auto` on a terminal only, `always`, `never`."""
    show_reasoning: bool = True
    """Whether a model's reasoning is shown while it thinks. It never reaches a pipe."""


class AgentSettings(_Section):
    """Our own part of the configuration."""

    roles: RoleSettings = RoleSettings.model_construct()
    """Which model does what."""
    fallbacks: Names = ()
    """Models to fall back on when the main one fails, in this order."""
    api_base: Text | None = None
    """Base address of an OpenAI-compatible server for models that are not in `model_list`."""
    transport: Transport = "auto"
    """`direct` speaks OpenAI's chat completions itself; `litellm` goes through LiteLLM; `auto` decides
    by the model."""
    system: Text | None = None
    """The system prompt as text."""
    system_file: Text | None = None
    """The system prompt as a file, beside the configuration file that names it. Where neither is set, the
    shipped prompt is used."""
    instructions: bool = True
    """Whether a new session is told what is in your `AGENTS.md` and in those of trusted folders, and
    which skills there are."""
    limits: ScopedLimits = ScopedLimits.model_construct()
    """Upper bounds of turns and sessions."""
    rules: RuleSettings = RuleSettings.model_construct()
    """When a turn stops by itself."""
    context: ContextSettings = ContextSettings.model_construct()
    """How room is made in the context window."""
    request: RequestSettings = RequestSettings.model_construct()
    """How models are asked."""
    tools: ToolSettings = ToolSettings.model_construct()
    """Which tools a session has."""
    mcp: McpSettings = McpSettings.model_construct()
    """MCP servers."""
    permissions: PermissionSettings = PermissionSettings.model_construct()
    """What may run without asking."""
    sandbox: SandboxSettings = SandboxSettings.model_construct()
    """What holds the commands that `shell` runs."""
    session: SessionSettings = SessionSettings.model_construct()
    """How sessions are kept."""
    display: DisplaySettings = DisplaySettings.model_construct()
    """What is shown, and how."""
    profiles: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict[str, Mapping[str, Any]])
    """Named sets of these settings, each laid over the rest by `--profile NAME`."""

    def to_rules(self) -> "Rules":
        """The engine's rules, limits included."""
        from agent_chat.engine.runtime import ContextRules, Rules

        return Rules(
            turn=self.limits.turn.to_limits(),
            session=self.limits.session.to_limits(),
            max_invalid=self.rules.max_invalid,
            max_repeats=self.rules.max_repeats,
            max_continuations=self.rules.max_continuations,
            max_parallel=self.rules.max_parallel,
            result_limit=self.rules.result_limit,
            summary_tokens=self.rules.summary_tokens,
            context=ContextRules(
                window=self.context.window,
                compact_at=self.context.compact_at,
                thin_at=self.context.thin_at,
                keep_turns=self.context.keep_turns,
                keep_iterations=self.context.keep_iterations,
                thinned_to=self.context.thinned_to,
            ),
        )

    def to_request_options(self) -> "RequestOptions":
        """How models are asked."""
        from agent_chat.models.build import RequestOptions

        chosen = {
            "temperature": self.request.temperature,
            "reasoning_effort": self.request.reasoning_effort,
        }
        return RequestOptions(
            connect_timeout=self.request.connect_timeout,
            idle_timeout=self.request.idle_timeout,
            retries=self.request.retries,
            max_retry_wait=self.request.max_retry_wait,
            max_output_tokens=self.request.max_output_tokens,
            parameters={name: value for name, value in chosen.items() if value is not None},
            headers=self.request.headers,
            transport=self.transport,
        )


class LiteLLMParams(BaseModel):
    """LiteLLM's parameters of one model; what we do not know is kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    model: Text


class ModelEntry(BaseModel):
    """One entry of LiteLLM's `model_list`; what we do not know is kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    model_name: Text
    litellm_params: LiteLLMParams


class Settings(BaseModel):
    """A whole configuration: LiteLLM's part and ours. Other keys of LiteLLM's are kept as extras."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model_list: Annotated[tuple[ModelEntry, ...], Field(strict=False)] = ()
    """LiteLLM's list of models: names, and what each stands for."""
    litellm_settings: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """LiteLLM's module settings."""
    router_settings: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """LiteLLM's router settings, such as `fallbacks` and `model_group_alias`."""
    general_settings: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """LiteLLM's proxy settings; they mean nothing here."""
    environment_variables: Mapping[str, Any] = Field(default_factory=dict[str, Any])
    """Variables that LiteLLM sets for itself; they count as set in the environment."""
    agent: AgentSettings = AgentSettings.model_construct()
    """Our own part."""
