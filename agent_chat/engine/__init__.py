"""The two loops: session ▸ turn ▸ iteration ▸ tool calls. Sees the world through `core.ports` only."""
