#!/usr/bin/env bash
# Times `tidepool eval` beside its stages alone, on a file four times the memory limit, and on two
# accelerators beside each of them alone. Prints medians, and of what the slowest stage allows.
#
#   benchmarks/stages.sh [ROUNDS [FOLDER]]    5 rounds in /tmp; needs 9 GiB there
#
# PYTHON names a Python that has NumPy; MIB another size of the file; SECOND the other accelerator.
set -euo pipefail

rounds=${1:-5}
folder=${2:-/tmp}
python=${PYTHON:-/usr/bin/python3}
mib=${MIB:-4096}
second=${SECOND:-opencl:0}
source "$(dirname "$0")/timing.sh"
cores=$(cores)

eval_on() {
  timed "$1" "$root/tidepool" eval "y = $2" x="$work/x.npy" y="$work/out.npy" --device "$3" \
    --memory-limit "$((mib / 4))m"
}

row() {
  printf '| %s | %.2f s | %.2f s | %s |\n' "$1" "$(median "$2" 1)" "$(median "$2" 3)" "$(seconds "$2")"
}

make_array "$work/x.npy" "$mib"

"$root/tidepool" info >/dev/null # builds what is not built
cat "$work/x.npy" >/dev/null

echo "$(date -u +%F) $(uname -r), $cores cores, $mib MiB, limit $((mib / 4)) MiB, $rounds rounds in" \
  "$folder, load before: $(load)"
number=0
for expression in '2*x + 1' 'exp(-x)*sin(x)'; do
  number=$((number + 1))
  for ((round = 0; round < rounds; round++)); do
    # The program that runs first changes, so that a drift of the machine favours none.
    for ((turn = 0; turn < 5; turn++)); do
      case $(((round + turn) % 5)) in
        0) timed "read$number" dd status=none if="$work/x.npy" of=/dev/null bs=1M ;;
        1) timed "write$number" dd status=none if=/dev/zero of="$work/out.npy" bs=1M count="$mib" ;;
        2) eval_on "first$number" "$expression" cpu:0 ;;
        3) eval_on "second$number" "$expression" "$second" ;;
        4) eval_on "both$number" "$expression" "cpu:0,$second" ;;
      esac
    done
  done
  echo
  echo "y = $expression"
  echo
  echo "| | median | processors | of the rounds |"
  echo "|---|---|---|---|"
  row "reading alone" "read$number"
  row "writing alone" "write$number"
  row "on cpu:0" "first$number"
  row "on $second" "second$number"
  row "on both" "both$number"
  awk -v t="$(median "first$number" 1)" -v cpu="$(median "first$number" 3)" -v n="$cores" \
    -v r="$(median "read$number" 1)" -v w="$(median "write$number" 1)" \
    -v s="$(median "second$number" 1)" -v b="$(median "both$number" 1)" 'BEGIN {
      slowest = cpu / n; if (r > slowest) slowest = r; if (w > slowest) slowest = w
      printf "\nOf what the slowest allows: %.2f (reading %.2f s, writing %.2f s, ", slowest / t, r, w
      printf "processor time over cores %.2f s)\n", cpu / n
      best = t < s ? t : s
      printf "Both to the better one alone: %.2f of its speed\n", best / b }'
done
echo
echo "load after: $(load)"
