#!/usr/bin/env bash
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# Measures loads to a GPU on the machine that has one. What fails or takes too long stops nothing else, and everything ends
# within PTD_RUN_SECONDS (520).
#
#   cuda_run.sh BINARIES OUTPUT [PART...]
#
# BINARIES has ptd_cuda_bench and ptd. Parts: machine make results large other cold peers sanitize report; default all, in
# this order. Models stay in PTD_BENCH_DIR (/tmp/ptd-bench) for a later call with other parts.
set -uo pipefail

(($# >= 2)) || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
binaries=$(realpath "$1") output=$(mkdir -p "$2" && realpath "$2")
shift 2
here=$(dirname "$(realpath "$0")")
python=${PYTHON:-python3}
export PTD_BENCH_DIR=${PTD_BENCH_DIR:-/tmp/ptd-bench}
readonly deadline=$((SECONDS + ${PTD_RUN_SECONDS:-520})) bench=$binaries/ptd_cuda_bench models=$PTD_BENCH_DIR
readonly peers_method=${PTD_PEERS_METHOD:-quarter}  # of the large model: 4 GiB, or half: 8

# limited SECONDS COMMAND...: with its output in the log, and no longer than is left of the whole.
limited() {
  local limit=$1 left=$((deadline - SECONDS)) start=$SECONDS; shift
  ((limit < left)) || limit=$left
  ((limit > 2)) || { echo "== no time left for: $*" | tee -a "$output/log.txt"; return 1; }
  echo "== $*" >>"$output/log.txt"
  timeout -k 5 "$limit" "$@" >>"$output/log.txt" 2>&1
  local code=$?
  echo "== exit code $code after $((SECONDS - start)) s: $*" | tee -a "$output/log.txt"
  return $code
}

# measure NAME SECONDS FILTER
measure() {
  limited "$2" "$bench" "--benchmark_filter=$3" "--benchmark_out=$output/bench-$1.json" --benchmark_out_format=json
}

part_machine() {
  limited 20 nvidia-smi
  limited 20 nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current,clocks.mem --format=csv
  limited 10 lscpu
  limited 10 free -g
  limited 10 df -h "$models" /tmp /dev/shm
}

part_make() { mkdir -p "$models" && limited 170 "$bench" --make-only; }
part_results() { measure results 90 '^results/'; }
part_large() { measure large 150 '^link/start|^load/large/'; }
part_other() { measure other 130 '^load/(small|moe|two)/|^second/|^executorch/|^cpu/'; }
part_cold() { measure cold 100 '^cold/|^link/end'; }

part_peers() {
  local file=$models/peers.safetensors pt=$models/peers.pt
  [[ -e $file ]] || limited 60 "$binaries/ptd" convert "$models/large-raw.ptd" --method "$peers_method" -o "$file" || return
  # fastsafetensors looks for libcudart.so, without a version.
  local libraries; libraries=$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")/../lib64
  LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    limited 200 "$python" "$here/cuda_peers.py" "$file" "$pt" --make-pt --timeout 50 --json "$output/peers.json"
  rm -f "$file" "$pt" "$models/peers.unfinished"  # they are as large as all the rest has room for
}

part_sanitize() {
  local tool
  for tool in "memcheck --leak-check full" initcheck racecheck synccheck; do
    # shellcheck disable=SC2086  # the tool's own options
    PTD_BENCH_SCALE=0.01 limited 60 compute-sanitizer --tool $tool --error-exitcode 9 \
      "$bench" '--benchmark_filter=^results/|^second/' "--benchmark_out=$output/sanitize.json" --benchmark_out_format=json
  done
}

# results SCRIPT [ARGUMENT...]: what was measured, through the script.
results() {
  "$python" "$here/$1" --bench "$output"/bench-{large,other,cold,results}.json --peers "$output/peers.json" "${@:2}"
}

hardware() {
  local query=name,driver_version,pcie.link.gen.max,pcie.link.width.max gpu driver generation width
  IFS=, read -r gpu driver generation width < <(nvidia-smi "--query-gpu=$query" --format=csv,noheader,nounits)
  printf '%s on PCIe Gen%d x%d, driver%s, %d cores of %s' "$gpu" "$generation" "$width" "$driver" "$(nproc)" \
    "$(lscpu | sed -n 's/^Model name: *//p')"
}

part_report() {
  results cuda_report.py >"$output/table.md"
  results cuda_plot.py --hardware "$(hardware)" --command "bench/cuda_run.sh DIR OUTPUT $asked" --out "$output/loads.svg"
  results cuda_report.py --summary
}

asked=$*
(($#)) || set -- machine make results large other cold peers sanitize report
for part; do
  declare -F "part_$part" >/dev/null || { echo "unknown part: $part" >&2; exit 2; }
done
for part; do "part_$part"; done
echo "done after $SECONDS s; numbers, table.md, loads.svg and log.txt are in $output"
