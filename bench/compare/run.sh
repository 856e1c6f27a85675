#!/usr/bin/env bash
# Build everything, measure, report. See README.md for the variables.
set -euo pipefail
cd "$(dirname "$0")"
export BENCH_DIR="$PWD"
export BENCH_WORK="${BENCH_WORK:-${TMPDIR:-/tmp}/mcp-bench}"
export BENCH_TARGET="${CARGO_TARGET_DIR:-$BENCH_WORK/target}"
export BENCH_TS="$BENCH_WORK/ts" BENCH_PY_MCP="$BENCH_WORK/py-mcp" BENCH_PY_FASTMCP="$BENCH_WORK/py-fastmcp"
# The server under test is built by the workspace around this folder, with the workspace's own settings.
export TOOLWAY_SERVER="$BENCH_TARGET/release/bench-server"
export CARGO_TARGET_DIR="$BENCH_TARGET" CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-1}"
out="${BENCH_OUT:-$BENCH_WORK/results.jsonl}"
mkdir -p "$BENCH_WORK" "$BENCH_TS"

if [ "${BENCH_BUILD:-1}" = 1 ]; then
  cargo build --release
  (cd ../.. && cargo build --release -p bench --bin bench-server)
  for peer in ${BENCH_PEERS:-limit-hyper rmcp turbomcp pmcp rust-mcp-sdk}; do
    (cd "peers/$peer" && cargo build --release)
  done
  for client in ${BENCH_CLIENTS-toolway rmcp}; do
    (cd "clients/$client" && cargo build --release)
  done
  if [ -n "${BENCH_PEERS:-}" ]; then PYTHON_AND_NODE=0; else PYTHON_AND_NODE=1; fi
fi
if [ "${BENCH_BUILD:-1}" = 1 ] && [ "$PYTHON_AND_NODE" = 1 ]; then
  cp peers/ts/package.json peers/ts/server.mjs "$BENCH_TS/"
  (cd "$BENCH_TS" && npm install --no-audit --no-fund)
  for peer in py-mcp py-fastmcp; do
    [ -x "$BENCH_WORK/$peer/bin/python" ] || python3 -m venv "$BENCH_WORK/$peer"
    "$BENCH_WORK/$peer/bin/pip" install -q uv
    # fastmcp 4.1.4 asks for a certifi a few days newer than some mirrors hold; it is not on the measured path
    VIRTUAL_ENV="$BENCH_WORK/$peer" "$BENCH_WORK/$peer/bin/uv" pip install -q \
      --override <(echo 'certifi>=2026.10.18') -r "peers/$peer/requirements.txt"
  done
fi

uptime
[ "${BENCH_APPEND:-0}" = 1 ] || rm -f "$out"
status=0
"$BENCH_TARGET/release/mcp-bench" run peers.json "$out" "$@" || status=$?
uptime
"$BENCH_TARGET/release/mcp-bench" report peers.json "$out" | tee "${out%.jsonl}.md"
exit "$status"
