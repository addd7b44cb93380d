// Which scorer reads which table, and the gates. The rules of the gates were written down before any error was computed
// with this program's own figures.
#include "validation/scorers.h"

namespace photonrail::validation {

std::span<const TableKind> table_kinds() {
  static constexpr TableKind kKinds[] = {
      {"serving_silicon_ttft_tpot.csv", score_serving, "TTFT and TPOT of serving engines"},
      {"trtllm_static_batch_throughput.csv", score_static_batch, "throughput of static batches"},
      {"trtllm_static_first_token_latency.csv", score_first_token, "TTFT at batch 1"},
      {"trtllm_inflight_throughput.csv", score_inflight, "offline throughput of in-flight batching"},
      {"mlperf_inference_v4.1.csv", score_mlperf_inference, "offline throughput of Llama 2 70B"},
      {"azure_llm_inference_128in_8out.csv", score_azure_inference, "short static batches"},
      {"gemm_h100_h200_b200_gb200.csv", score_gemm, "matrix products"},
      {"azure_gemm.csv", score_azure_gemm, "matrix products"},
      {"gemm_a100_mi210_llmcompass.csv", score_llmcompass_gemm, "matrix products of A100"},
      {"vidur_llama2_70b_layer_ops_ms.csv", score_layer_operators, "operators of a layer of Llama 2 70B"},
      {"attention_h100.csv", score_attention, "attention kernels"},
      {"nccl_collectives_nvlink_h100_h200_b200_gb200.csv", score_nccl, "collectives inside one node"},
      {"azure_nccl_allreduce_8gpu.csv", score_azure_all_reduce, "all-reduces of 8 GPUs"},
      {"collectives_multinode_mlengineering.csv", score_multinode, "all-reduces of one and of four nodes"},
      {"vidur_network_a100_h100.csv", score_vidur_network, "all-reduces and sends inside one node"},
      {"vtrain_a100_iteration_times.csv", score_vtrain, "iterations of Megatron-DeepSpeed on A100"},
      {"korthikanti2022_iteration_times_a100.csv", score_korthikanti_times,
       "iterations with and without recomputation"},
      {"korthikanti2022_memory_a100.csv", score_korthikanti_memory, "memory of a GPU"},
      {"narayanan2021_weak_scaling_a100.csv", score_narayanan, "weak scaling"},
      {"mlperf_training_summary.csv", score_mlperf_training, "steps of GPT-3 and Llama 3.1 405B"},
      {"mlperf_training_summary.csv", score_dlrm_training, "throughput of DLRM-DCNv2"},
      {"mlperf_inference_v4.1.csv", score_dlrm_inference, "offline throughput of DLRM-v2"},
      {"nvidia_megatron_bridge_training.csv", score_megatron_bridge, "tokens per second and GPU of NVIDIA's tables"},
      {"torchtitan_llama3_h100.csv", score_torchtitan, "throughput and memory of Llama 3 under FSDP"},
      {"mosaic_mpt_training.csv", score_mosaic, "throughput of MPT models under FSDP"},
      {"mlperf_training_power.csv", score_training_power, "power of training nodes at the plug"},
      {"mlperf_inference_v4.1_power.csv", score_inference_power, "power of serving nodes at the plug"},
      {"energy_anchor_points.csv", score_energy_anchors, "power and energy per token of a GPT-3 run"},
  };
  return kKinds;
}

std::span<const Gate> gates() {
  static constexpr Gate kGates[] = {
      {"tpot-dense", "TPOT of dense models, aggregated serving, cache fits, precision given, H100/H200/B200/GB200",
       0.075},
      {"static-throughput", "output tokens/s of static batches of dense models that fit, H100/H200", 0.08},
      {"ttft-unqueued",
       "TTFT at batch 1, or concurrency x input within the tokens of one pass (in the row's case); dense", 0.12},
      {"vtrain-multi-node", "vTrain multi-node iterations, A100", 0.08},
      {"korthikanti-time", "Korthikanti iterations, A100", 0.04},
      {"mlperf-steps", "MLPerf GPT-3 and Llama-3.1-405B steps with TP, PP and micro-batch given, one row per run",
       0.10},
      {"bridge-llama", "Megatron-Bridge Llama pre-training on H100, H200, B200, GB200", 0.10},
      {"memory-closed-form", "memory rows that follow from a formula", 0.0},
      {"memory-measured", "memory rows that were measured", 0.05},
      {"dlrm-training", "MLPerf DLRM-DCNv2 throughput on NVIDIA GPUs", 0.15},
  };
  return kGates;
}

}  // namespace photonrail::validation
