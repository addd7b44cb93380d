// What a serving engine does with the passes of a model: its budget of tokens, what it fuses, what its host costs, and
// what memory it leaves alone. Plain data; the presets and their sources stand in engine.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "operators/collective_curve.h"

namespace photonrail::inference {

// How tokens reach experts on other ranks when attention runs data parallel.
enum class Dispatch : std::uint8_t {
  automatic,   // gather up to 8 ranks, all_to_all beyond
  gather,      // all-gather of all tokens, reduce-scatter of the results
  all_to_all,  // each token to the ranks of its experts only
};

// For which groups of query heads there is a decoding kernel that reads the cache once. For others the kernel works
// query head by query head (operators/attention.h).
enum class GroupedDecode : std::uint8_t { any, of_eight, none };

// Defaults: a current TensorRT-LLM.
struct Engine {
  std::string name = "trtllm";
  std::int64_t prefill_budget = 8192;  // most tokens of one pass on one attention copy
  bool chunked_prefill = true;         // a prompt may be split over passes
  bool separate_prefill = false;       // prefills run in passes of their own, decoding waits
  // Passes that are already laid out when a request arrives: an engine that overlaps host and GPU plans a pass while
  // the one before it runs.
  std::int64_t passes_ahead = 1;
  // TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio: while others decode, prompts wait as many
  // passes, unless together they fill this share of the budget.
  std::int64_t prompt_wait = 0;
  double prompt_wait_fill = 0;
  std::int64_t largest_batch = 2048;         // most sequences of one attention copy
  Time step_overhead = microseconds(300);    // host work of a pass that no kernel hides (scheduling, sampling, launch)
  Time sequence_overhead = microseconds(5);  // the same for each sequence of an attention copy in the pass
  Time kernel_gap;                           // between two kernels, beyond what graphs have (in the launch floor)
  // Passes with prompts of more tokens than a captured graph takes are launched kernel by kernel: the host then takes
  // at least this long for each, which shows where kernels are shorter.
  Time launch_time;
  std::int64_t captured_tokens = 0;
  Time request_overhead = milliseconds(30);  // of one request, outside the passes: HTTP, tokens from and to text
  bool fused_norm_reduce = true;             // all-reduce, residual sum and norm in one kernel
  bool parallel_reduced_once = true;         // of a block whose halves run side by side the sum, else each half apart
  bool fused_quantisation = true;    // operands are quantised inside the kernels before them, or inside the product
  bool static_scales_apart = false;  // each operand is quantised by a kernel of its own, with a scale that is known
  bool fused_rope = true;  // rotary embedding and cache update are part of attention, else kernels of their own
  GroupedDecode grouped_decode = GroupedDecode::any;
  operators::CollectiveLibrary library = operators::CollectiveLibrary::custom;
  Dispatch dispatch = Dispatch::automatic;
  // Kernels of equal work take times that vary from GPU to GPU by this share (standard deviation), and a collective
  // waits for the slowest. Sinha et al., "Not All GPUs Are Created Equal" (SC 2022), measured 8 % between the GPUs of
  // large systems; half of it is taken for those of one board.
  double rank_spread = 0.04;
  double memory_fraction = 0.9;            // of what is free after all else, for the cache; the rest stays free
  bool fraction_of_total = false;          // the fraction is of the whole memory, and for everything
  Bytes workspace = Bytes{4'133'000'000};  // CUDA context, graphs, engine (3.5 GiB) and NCCL buffers (0.35 GiB)
  // Of the tokens of an answer, the share that a request is charged for in the cache when it enters. 1: all, so that
  // none is ever evicted (TensorRT-LLM's GUARANTEED_NO_EVICT). Engines that take pages as they need them hold half in
  // the mean of requests at all stages; what they evict and compute again where that runs short is not modelled.
  double reserved_output = 1;
  std::int64_t block_tokens = 64;  // cache pages are whole
};
// "trtllm", "vllm", "sglang", and "trtllm-0.5", "trtllm-0.6", "trtllm-0.7" for those of 2023 and 2024; invalid_input
// for any other.
Result<Engine> engine_of(std::string_view name);

}  // namespace photonrail::inference
