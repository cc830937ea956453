#!/bin/sh
# Does the Python package do what it says? tools/test-python.sh [TEST...]
#
# With the shared library of $PYTHON_BUILD (build) and a playground of three nodes of its own. Skipped where there is no cffi. mypy
# is asked as well, where it is installed.
# Last line: "N passed, N failed", with ", N skipped" where it was.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${PYTHON_BUILD:-$root/build}" && pwd) || exit 1
python=${PYTHON:-/usr/bin/python3}
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

if ! "$python" -c 'import cffi' 2>/dev/null; then
    echo "skip  python: $python has no cffi, of the package python3-cffi"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
if [ ! -e "$build/python/orbloom/_ffi.py" ]; then
    echo "$build/python is not made: make python" >&2
    exit 1
fi
export ORBLOOM_BIN="$build/bin" PYTHONPATH="$build/python" LD_LIBRARY_PATH="$build/lib" PYTHONDONTWRITEBYTECODE=1

typed=0
if "$python" -c 'import mypy' 2>/dev/null; then
    "$python" -m mypy --strict --ignore-missing-imports --cache-dir=/dev/null "$build/python/orbloom" || typed=1
fi
# shellcheck disable=SC2016 # the inner shell's
"$build/bin/orbloom" playground --nodes 3 --base-port 0 --run \
    sh -c 'cd "$1/python/tests" && shift && exec "$@"' sh "$root" "$python" -W error -m unittest "${@:-test_orbloom}" >"$output" 2>&1
cat "$output"
ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} .*/\1/p' "$output" | tail -n 1)
failed=$(grep -cE '^(FAIL|ERROR): ' "$output")
ran=${ran:-0}
if [ "$ran" -eq 0 ] || [ "$typed" -ne 0 ]; then
    failed=$((failed + 1))
fi
echo "$((ran - failed > 0 ? ran - failed : 0)) passed, $failed failed"
[ "$failed" -eq 0 ]
