#!/usr/bin/env bash
# `photonrail validate` on tables of its own (invented figures): a good run in every format, and each bad input.
# usage: validate.sh PHOTONRAIL ROOT
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

columns=trtllm_version,gpu_and_precision,model,batch_size,tp,input_len,output_len,throughput_value
columns+=,throughput_unit_as_published,source
row='0.9.0,H200 GPUs (FP8),GPT-J 6B,64,1,2048,128,2785,throughput (out tok/s/gpu),invented'
data=$work/tables
mkdir "$data"
table() { printf '%s\n' "$@" >"$data/trtllm_static_batch_throughput.csv"; }

table "$columns" "$row"
accepted validate --data "$data" --quiet --out "$work/out.d"
holds "$work/out" "static-throughput" "trtllm_static_batch_throughput"
for file in validate.txt points.json points.csv; do [[ -s $work/out.d/$file ]] || bad "$file is missing or empty"; done
accepted validate --data "$data" --quiet --format csv
holds "$work/out" "id,quantity,unit,published,ours" "trtllm_static_batch_throughput/" "throughput"

# A list of rows is no report, however long it is; a folder is no table.
for list in points.json long.json; do
  [[ $list == points.json ]] || { cat "$work/out.d/points.json"; head -c 5000000 /dev/zero | tr '\0' ' '; } \
    >"$work/out.d/$list"
  refused 3 "a list of rows of validate" "report.json" -- explain "$work/out.d/$list"
done
mkdir -p "$work/folder/azure_gemm.csv"
refused 5 "azure_gemm.csv: a folder" -- validate --data "$work/folder"

for only in H200 h200 gpt-j GPT-J; do
  accepted validate --data "$data" --quiet --only "$only"
  holds "$work/out" "1 points"
done
refused 2 "--only leaves no row" "GPUs here: H200" "models: GPT-J" "tpot-dense" -- \
  validate --data "$data" --only no-such-row
table "$columns"
refused 3 "has a row that is scored" -- validate --data "$data"
table "${columns/batch_size/size}" "$row"
refused 3 "no column" "batch_size" -- validate --data "$data"
table "$columns" "${row/,64,/,many,}"
refused 3 ":2: batch_size: 'many' is no number" -- validate --data "$data"
table "$columns" "${row%,*}"
refused 3 "trtllm_static_batch_throughput.csv:2" -- validate --data "$data"
: >"$data/trtllm_static_batch_throughput.csv"
refused 3 "empty" -- validate --data "$data"
rm "$data/trtllm_static_batch_throughput.csv"
refused 3 "no .csv table" -- validate --data "$data"
refused 5 "No such file" -- validate --data "$work/none"
refused 2 "--data is required" -- validate
finish
