"""liborbloom.so.0, as orbloom.h declares it; texts to and from it."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

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
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    return _held(text.encode("utf-8"), what)


def path_of(path: Union[str, os.PathLike[str], None], what: str) -> Any:
    """The same of a path."""
    return ffi.NULL if path is None else _held(os.fsencode(path), what)


def _held(text: bytes, what: str) -> Any:
    if b"\0" in text:
        raise ValueError(f"{what} holds a NUL character")
    return ffi.new("char[]", text)
