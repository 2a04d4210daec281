"""A server's answer to a call, as text for a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from agent_chat.core.observation import ToolResult
from agent_chat.core.text import storable
from agent_chat.tools.mcp.text import one_line

if TYPE_CHECKING:
    from mcp_types import CallToolResult


def to_result(result: CallToolResult) -> ToolResult:
    """Texts as they are, everything else described; structured content where no text says the same."""
    parts = [part for block in result.content for part in _parts(block)]
    structured = result.structured_content
    if structured is not None and not any(_says(part, structured) for part in parts):
        parts.append(json.dumps(structured, ensure_ascii=False))
    return ToolResult(storable("\n".join(parts)), ok=not result.is_error)


def _says(text: str, structured: Any) -> bool:
    """Whether a text is the same value, or all that it holds."""
    if isinstance(structured, dict) and list(cast("dict[str, Any]", structured).values()) == [text]:
        return True
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return said == structured or structured == {"result": said}


def _parts(block: Any) -> Iterator[str]:
    match block.type:
        case "text":
            yield block.text
        case "image" | "audio":
            yield f"[{block.type}, {_short(block.mime_type)}, {_bytes(block.data)}: it cannot be shown here]"
        case "resource":
            resource = block.resource
            name = _short(str(resource.uri))
            if hasattr(resource, "text"):
                yield f"[resource {name}]\n{resource.text}"
            else:
                kind = _short(resource.mime_type or "unknown type")
                yield f"[resource {name}, {kind}, {_bytes(resource.blob)}]"
        case "resource_link":
            told = " – ".join(filter(None, (_short(block.name or ""), _short(block.description or ""))))
            yield f"[link to a resource: {_short(str(block.uri))}{f' ({told})' if told else ''}]"
        case _:
            yield f"[content of type {_short(str(block.type))}]"


def _short(text: str) -> str:
    return one_line(text, 200)


def _bytes(base64: str) -> str:
    return f"{len(base64.rstrip('=')) * 3 // 4:,} bytes"
