#!/bin/sh
# Files as C: a function each that lends its bytes, embedded_page_html() for page.html.
# Usage: tools/embed.sh HEADER FILE... > OUT.c
set -eu

echo "#include \"$1\""
shift
for file; do
    name=$(basename "$file" | tr . _)
    printf '\nstruct span embedded_%s(void)\n{\n    static const uint8_t bytes[] = {\n' "$name"
    od -An -v -tx1 "$file" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
    printf '    };\n\n    return span_of(bytes, sizeof bytes);\n}\n'
done
