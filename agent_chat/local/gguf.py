"""The header of a GGUF file: what the file says about the model in it, without loading the model."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent_chat.local.errors import LocalModelError

MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MAX_STRING = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What is needed to run the file. `chat_template` and `context_length` (tokens) may be missing: None."""

    architecture: str
    chat_template: str | None
    context_length: int | None


def read_header(path: Path) -> GgufHeader:
    """Read the metadata of `path`. Raises LocalModelError: missing, unreadable, or not a GGUF file."""
    try:
        with path.open("rb") as file:
            scalars = _read_metadata(file, path)
    except FileNotFoundError:
        raise LocalModelError(
            f"The model file {path} does not exist.",
            "Give the path of a .gguf file as local:/path/file.gguf, or a catalogue name as local/NAME.",
        ) from None
    except OSError as error:
        raise LocalModelError(f"The model file {path} cannot be read: {error.strerror or error}.") from error
    except (struct.error, UnicodeDecodeError, KeyError, EOFError) as error:
        raise LocalModelError(
            f"The model file {path} is a damaged GGUF file: its header cannot be read.",
            "Remove it and fetch it again.",
        ) from error
    architecture = str(scalars.get("general.architecture", "unknown"))
    template = scalars.get("tokenizer.chat_template")
    context = scalars.get(f"{architecture}.context_length")
    return GgufHeader(
        architecture,
        template if isinstance(template, str) else None,
        context if isinstance(context, int) else None,
    )


def _read_metadata(file: BinaryIO, path: Path) -> dict[str, object]:
    if file.read(4) != MAGIC:
        raise LocalModelError(
            f"{path} is not a GGUF file.", "The embedded model runs files in llama.cpp's GGUF format only."
        )
    version, _tensors, count = struct.unpack("<IQQ", _take(file, 20))
    if version < 2:
        raise LocalModelError(f"{path} has GGUF version {version}, which is too old.", "Convert it anew.")
    return {_string(file): _value(file, *struct.unpack("<I", _take(file, 4))) for _ in range(count)}


def _value(file: BinaryIO, kind: int) -> object:
    """The scalar or string there; arrays (vocabularies of 150,000 strings) are skipped and give None."""
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        item, length = struct.unpack("<IQ", _take(file, 12))
        _skip(file, item, length)
        return None
    form = "<" + _SCALARS[kind]
    return struct.unpack(form, _take(file, struct.calcsize(form)))[0]


def _skip(file: BinaryIO, kind: int, length: int) -> None:
    if kind == _STRING:
        for _ in range(length):
            file.seek(int.from_bytes(_take(file, 8), "little"), 1)
    elif kind == _ARRAY:
        for _ in range(length):
            _value(file, _ARRAY)
    else:
        file.seek(length * struct.calcsize("<" + _SCALARS[kind]), 1)


def _string(file: BinaryIO) -> str:
    size = int.from_bytes(_take(file, 8), "little")
    if size > _MAX_STRING:
        raise EOFError
    return _take(file, size).decode()


def _take(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data
