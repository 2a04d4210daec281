"""Why one source of a file did not give it."""


class SourceError(Exception):
    """This source cannot give the file; another may. The text completes "SOURCE: ..."."""
