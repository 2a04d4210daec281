from pathlib import Path

import pytest
from local.tiny_gguf import gguf

from agent_chat.local.errors import LocalModelError
from agent_chat.local.gguf import GgufHeader, read_header


def header_of(content: bytes, folder: Path) -> GgufHeader:
    file = folder / "model.gguf"
    file.write_bytes(content)
    return read_header(file)


def test_what_is_needed_is_found_past_arrays_of_every_kind(tmp_path: Path) -> None:
    assert header_of(gguf(), tmp_path) == GgufHeader("tiny", "TEMPLATE", 4096)


def test_what_is_missing_is_none(tmp_path: Path) -> None:
    assert header_of(gguf(context=None, template=None), tmp_path) == GgufHeader("tiny", None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\3\4 a zip", "not a GGUF file"),
        (b"", "not a GGUF file"),
        (gguf()[:-3], "damaged"),
        (gguf()[:40], "damaged"),
        (b"GGUF" + b"\xff" * 200, "damaged"),
        (gguf(version=1), "too old"),
    ],
    ids=["other", "empty", "cut at the end", "cut early", "noise", "old"],
)
def test_what_is_not_a_model_says_so(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(LocalModelError, match=message):
        header_of(content, tmp_path)


def test_a_missing_file_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="does not exist") as caught:
        read_header(tmp_path / "none.gguf")
    assert "local:/path/file.gguf" in caught.value.hint


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="cannot be read"):
        read_header(tmp_path)
