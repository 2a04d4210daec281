"""GGUF headers of a few bytes."""

import struct


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(context: int | None = 4096, template: str | None = "TEMPLATE", version: int = 3) -> bytes:
    """A header with a vocabulary, nested arrays, and numbers before what is looked for."""
    values = [
        string("general.architecture") + struct.pack("<I", 8) + string("tiny"),
        string("tokens") + struct.pack("<IIQ", 9, 8, 3) + string("a") + string("bc") + string(""),
        string("scores") + struct.pack("<IIQ3f", 9, 6, 3, 1, 2, 3),
        string("nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ2H", 2, 2, 7, 8),
    ]
    if context is not None:
        values.append(string("tiny.context_length") + struct.pack("<II", 4, context))
    if template is not None:
        values.append(string("tokenizer.chat_template") + struct.pack("<I", 8) + string(template))
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(values)) + b"".join(values)
