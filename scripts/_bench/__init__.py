"""The bench: rows of figures, each measured beside something plain."""
