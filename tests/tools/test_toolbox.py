"""Tools by name: order, what is allowed, what clashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent_chat.core.ports import Toolbox
from agent_chat.tools.documentation import Documentation
from agent_chat.tools.tool import FunctionTool, tool
from agent_chat.tools.toolbox import Allowed, Combined, ToolRegistry


def zeta() -> None: ...
def alpha() -> None: ...
def middle() -> None: ...


@tool(name="alpha")
def other() -> None: ...


def spec_names(toolbox: Toolbox) -> list[str]:
    return [spec.name for spec in toolbox.specs()]


def test_tools_keep_the_order_in_which_they_were_given() -> None:
    registry = ToolRegistry([zeta, alpha, middle])
    assert spec_names(registry) == ["zeta", "alpha", "middle"] == list(registry.names)
    assert registry.specs() is registry.specs()


def test_gathering_tools_does_not_describe_them_yet() -> None:
    def read() -> Documentation:
        raise AssertionError("described")

    described = FunctionTool(zeta, documentation=read)
    combined = Combined([Allowed(ToolRegistry([described]), ["zeta"])])
    assert combined.get("zeta") is described
    with pytest.raises(AssertionError, match="described"):
        combined.specs()


def test_tools_are_found_by_name() -> None:
    registry = ToolRegistry([zeta, alpha])
    found = registry.get("alpha")
    assert found is not None
    assert found.spec.name == "alpha"
    assert registry.get("alpah") is None
    assert not registry.exists("alpah")


def test_two_tools_of_one_name_are_refused_and_both_named() -> None:
    with pytest.raises(ValueError, match=r"two tools are named 'alpha': .*\.alpha> and .*\.other>"):
        ToolRegistry([alpha, other])


def test_only_allowed_tools_are_to_be_had_though_the_others_exist() -> None:
    allowed = Allowed(ToolRegistry([zeta, alpha, middle]), ["middle", "zeta"])
    assert spec_names(allowed) == ["zeta", "middle"] == list(allowed.names)
    assert allowed.get("zeta") is not None
    assert (allowed.get("alpha"), allowed.exists("alpha")) == (None, True)
    assert (allowed.get("nothing"), allowed.exists("nothing")) == (None, False)


def test_nothing_is_allowed_that_is_not_named() -> None:
    assert Allowed(ToolRegistry([alpha]), []).specs() == ()


def test_an_allowed_name_that_does_not_exist_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"'midle'; did you mean 'middle'\? the tools are: zeta, middle"):
        Allowed(ToolRegistry([zeta, middle]), ["midle"])


def test_toolboxes_join_in_their_order() -> None:
    combined = Combined([ToolRegistry([zeta]), Allowed(ToolRegistry([alpha, middle]), ["middle"])])
    assert spec_names(combined) == ["zeta", "middle"] == list(combined.names)
    found = combined.get("middle")
    assert found is not None
    assert found.spec.name == "middle"
    assert (combined.get("alpha"), combined.exists("alpha")) == (None, True)


def test_toolboxes_with_a_name_in_common_are_refused_and_both_tools_named() -> None:
    with pytest.raises(ValueError, match=r"two tools are named 'alpha': .*\.alpha> and .*\.other>"):
        Combined([ToolRegistry([zeta, alpha]), ToolRegistry([other])])


class Foreign:
    """A tool that is no function of ours."""

    def __init__(self, name: str) -> None:
        self._made: Any = ToolRegistry([zeta]).get("zeta")
        self._name = name

    @property
    def spec(self) -> Any:
        from dataclasses import replace

        return replace(self._made.spec, name=self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def test_foreign_tools_are_taken_by_the_name_they_offer() -> None:
    tools: list[Callable[..., Any] | Any] = [Foreign("server_look")]
    assert ToolRegistry(tools).names == ("server_look",)


def test_foreign_tools_with_illegal_names_are_refused() -> None:
    tools: list[Callable[..., Any] | Any] = [Foreign("admin.tools/list all")]
    with pytest.raises(ValueError, match="legal tool name"):
        ToolRegistry(tools)
