"""liborbloom.so.0, as orbloom.h declares it; texts to and from it."""

from __future__ import annotations

from typing import Any, Optional

from . import _ffi

ffi: Any = _ffi.ffi
lib: Any = ffi.dlopen("liborbloom.so.0")


def version() -> str:
    """Of the library: "0.1.0"."""
    return text_of(lib.orbloom_version())


def text_of(pointer: Any) -> str:
    """A text of the library, copied."""
    return str(ffi.string(pointer).decode("utf-8", "replace"))


def bytes_of(text: Optional[str], what: str) -> Any:
    """A text for the library, to be held for as long as it is used there; NULL for None."""
    if text is None:
        return ffi.NULL
    if "\0" in text:
        raise ValueError(f"{what} holds a NUL character")
    return ffi.new("char[]", text.encode("utf-8"))
