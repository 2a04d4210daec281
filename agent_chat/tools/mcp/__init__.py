"""Tools of MCP servers: programs and services that others wrote, under our own policy.

Nothing here imports the SDK before a server is started.
"""
