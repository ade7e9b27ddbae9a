#!/usr/bin/env bash
# Times `tidepool eval` beside numexpr and `cp` on one file of 1 GiB of float32 in the page cache, in
# alternation, and prints medians, ratios and the largest resident memory. Whole commands: the start
# of the JVM and of Python counts.
#
#   benchmarks/eval.sh [ROUNDS [FOLDER]]      7 rounds in /tmp; needs 3 GiB there
#
# PYTHON names the Python that has numexpr; MIB another size of the file.
set -euo pipefail

rounds=${1:-7}
folder=${2:-/tmp}
python=${PYTHON:-/usr/bin/python3}
mib=${MIB:-1024}
source "$(dirname "$0")/timing.sh"

cat >"$work/peer.py" <<'PEER'
import sys, time
import numpy as np
import numexpr as ne

expression, source, target, seconds = sys.argv[1:]
start = time.perf_counter()
x = np.load(source, mmap_mode="r")
y = np.lib.format.open_memmap(target, mode="w+", dtype=x.dtype, shape=x.shape)
ne.evaluate(expression, out=y)
with open(seconds, "w") as file:
    print(time.perf_counter() - start, file=file)
PEER

cat >"$work/check.py" <<'CHECK'
import sys
import numpy as np

ours, theirs = (np.load(path, mmap_mode="r") for path in sys.argv[1:])
assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
for start in range(0, ours.size, 1 << 24):
    np.testing.assert_allclose(
        ours[start : start + (1 << 24)], theirs[start : start + (1 << 24)], rtol=1e-5, atol=1e-6)
CHECK

tidepool() {
  timed "$1" "$root/tidepool" eval "y = $2" x="$work/${3:-x}.npy" y="$work/out.npy" --force
}

numexpr() {
  timed "$1" "$python" "$work/peer.py" "$2" "$work/x.npy" "$work/out.npy" "$work/seconds"
  cat "$work/seconds" >>"$work/$1.inside"
}

# A line of the table: a name, and the log that it is from.
row() {
  printf '  %-28s%5.2f s, least %5.2f s, %5.2f s of processors (%s)\n' "$1" "$(median "$2" 1)" \
    "$(least "$2" 1)" "$(median "$2" 3)" "$(seconds "$2")"
}

make_array "$work/x.npy" "$mib"
"$python" -c "import numpy; numpy.save('$work/tiny.npy', numpy.zeros(16, numpy.float32))"
"$root/tidepool" info >/dev/null # builds what is not built
"$root/tidepool" eval 'y = x' x="$work/x.npy" y="$work/out.npy" --force >/dev/null
cat "$work/x.npy" >/dev/null

echo "$(date -u +%F) $(uname -r), $(cores) cores, $mib MiB, $rounds rounds in $folder," \
  "load before: $(load)"
"$python" -c 'import sys, numpy, numexpr; print("Python", sys.version.split()[0], "NumPy",
numpy.__version__, "numexpr", numexpr.__version__, "on", numexpr.nthreads, "threads")'

number=0
for expression in '2*x + 1' 'exp(-x)*sin(x)'; do
  number=$((number + 1))
  for ((round = 0; round < rounds; round++)); do
    # The program that runs first changes, so that a drift of the machine favours none.
    for ((turn = 0; turn < 4; turn++)); do
      case $(((round + turn) % 4)) in
        0) tidepool "ours$number" "$expression" ;;
        1) numexpr "numexpr$number" "$expression" ;;
        2) timed "cp$number" cp "$work/x.npy" "$work/out.npy" ;;
        3) tidepool "start$number" "$expression" tiny ;;
      esac
    done
  done
  tidepool check "$expression"
  mv "$work/out.npy" "$work/ours.npy"
  numexpr check "$expression"
  "$python" "$work/check.py" "$work/ours.npy" "$work/out.npy"
  rm "$work/ours.npy"

  ours=$(median "ours$number" 1)
  theirs=$(median "numexpr$number" 1)
  inside=$(median "numexpr$number.inside" 1)
  copy=$(median "cp$number" 1)
  echo
  echo "y = $expression (equal to numexpr's within float32)"
  row "tidepool" "ours$number"
  row "tidepool on 16 elements" "start$number"
  row "numexpr" "numexpr$number"
  row "cp" "cp$number"
  echo "  numexpr from load to end    $(printf %5.2f "$inside") s"
  echo "  tidepool / numexpr          $(ratio "$ours" "$theirs") (without Python's start: $(ratio "$ours" "$inside"))"
  echo "  tidepool / cp               $(ratio "$ours" "$copy")"
  least=$(ratio "$(least "ours$number" 1)" "$(least "numexpr$number" 1)")
  echo "  the same of the least       $least, $(ratio "$(least "ours$number" 1)" "$(least "cp$number" 1)")"
  echo "  tidepool's peak resident    $(($(largest "ours$number" 2) / 1024)) MiB"
done
echo
echo "load after: $(load)"
