# Sourced by the scripts that time whole commands. Expects python and folder; makes work, a folder
# of its own inside of folder that goes when the script ends, and root, the repository.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/benchmarks/machine.sh"
/usr/bin/time -q -f '' true 2>/dev/null || {
  echo "${0##*/}: needs GNU time as /usr/bin/time, which Linux has (Debian: apt install time)" >&2
  exit 1
}
work=$(mktemp -d "$folder/tidepool-benchmark.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Makes a file of so many MiB of float32 from 0 to 4.
make_array() {
  "$python" - "$1" "$2" <<'MAKE'
import sys
import numpy as np

path, mib = sys.argv[1], int(sys.argv[2])
x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(mib << 18,))
random = np.random.default_rng(1)
for start in range(0, x.size, 1 << 22):
    x[start : start + (1 << 22)] = 4 * random.random(1 << 22, dtype=np.float32)
MAKE
}

# Runs a command and adds "seconds kilobytes processor-seconds" to a log. What others wrote is on the
# disk before, and the output is a new file each time, so that nobody pays for the one before.
timed() {
  local log=$1
  shift
  rm -f "$work/out"*
  sync "$folder"
  /usr/bin/time -q -f '%e %M %U %S' -o "$work/time" "$@" >/dev/null
  awk '{print $1, $2, $3 + $4}' "$work/time" >>"$work/$log"
}

# Of a column of a log.
median() {
  cut -d' ' -f"$2" "$work/$1" | sort -n |
    awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
least() { cut -d' ' -f"$2" "$work/$1" | sort -n | head -1; }
largest() { cut -d' ' -f"$2" "$work/$1" | sort -n | tail -1; }

# The seconds of all rounds of a log.
seconds() { cut -d' ' -f1 "$work/$1" | xargs; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }
