"""A turn of the log through the same loop again: its replies, observations and answers come from the log."""
