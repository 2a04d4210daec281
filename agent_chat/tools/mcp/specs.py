"""What the model is told of a server's tool: the server's words, cleaned and bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from agent_chat.core.model import ToolSpec
from agent_chat.tools.mcp.text import clean, clean_json

if TYPE_CHECKING:
    from mcp_types import Tool

LONGEST_DESCRIPTION = 4_000
LONGEST_TEXT = 1_000
"""Characters of one text in a schema."""
LONGEST_SCHEMA = 32_000
"""Characters of a schema as JSON; of a longer one the model is told the names alone."""
MOST_NAMED = 100


def spec_of(name: str, tool: Tool) -> ToolSpec:
    """The tool under the name that models call it by."""
    text = tool.description or tool.title or (tool.annotations.title if tool.annotations else None) or ""
    description = clean(text, LONGEST_DESCRIPTION)
    return ToolSpec(name, description, _parameters(tool.input_schema))


def size_of(spec: ToolSpec) -> int:
    """Characters that a tool takes of every request."""
    return len(spec.name) + len(spec.description) + len(json.dumps(dict(spec.parameters)))


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        cleaned = cast("dict[str, Any]", clean_json(schema, LONGEST_TEXT))
    except ValueError:
        return {"type": "object", "properties": {}}
    cleaned.pop("$schema", None)
    cleaned["type"] = "object"
    given = cleaned.get("properties")
    properties = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    cleaned["properties"] = properties
    if len(json.dumps(cleaned)) <= LONGEST_SCHEMA:
        return cleaned
    names = list(properties)[:MOST_NAMED]
    required = [name for name in names if name in (schema.get("required") or ())]
    return {"type": "object", "properties": {name: {} for name in names}, "required": required}
