"""What a command line would run: read by a real parser, and by a strict reader of single plain commands."""
