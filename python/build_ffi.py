"""Make orbloom/_ffi.py of client/orbloom.h: python3 build_ffi.py OUT-FILE

So the header is the one place that declares the library, and no compiler is needed: what is made holds the
declarations as data, and opens liborbloom.so.0 when it is imported.
"""

import re
import sys
from pathlib import Path

from cffi import FFI

HEADER = Path(__file__).resolve().parent.parent / "client" / "orbloom.h"


def declarations(header: str) -> str:
    """Of a header for C and C++ what cffi reads: no comments, no linkage of C++, of directives plain numbers alone."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    header = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", header, flags=re.DOTALL)
    lines = header.split("\n")
    return "\n".join(line for line in lines if not line.startswith("#") or re.match(r"#define \w+ +\d+ *$", line))


ffi = FFI()
ffi.cdef(declarations(HEADER.read_text(encoding="utf-8")))
ffi.set_source("orbloom._ffi", None)

if __name__ == "__main__":
    ffi.emit_python_code(sys.argv[1])
