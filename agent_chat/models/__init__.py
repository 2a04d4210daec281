"""Chat models: everything that answers queries, behind the one port `ChatModel`."""
