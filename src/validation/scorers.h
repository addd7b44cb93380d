// The scorers of the known tables. Each says in its .cc how a row becomes a configuration, and what it assumes.
#pragma once

#include "validation/score.h"

namespace photonrail::validation {

Result<std::vector<Point>> score_serving(const Csv& table, const Scoring& scoring);           // serving_rows.cc
Result<std::vector<Point>> score_inflight(const Csv& table, const Scoring& scoring);          // serving_rows.cc
Result<std::vector<Point>> score_static_batch(const Csv& table, const Scoring& scoring);      // static_rows.cc
Result<std::vector<Point>> score_first_token(const Csv& table, const Scoring& scoring);       // static_rows.cc
Result<std::vector<Point>> score_mlperf_inference(const Csv& table, const Scoring& scoring);  // offline_rows.cc
Result<std::vector<Point>> score_azure_inference(const Csv& table, const Scoring& scoring);   // offline_rows.cc

// Kernel tables: the error per operator.                                                       kernel_rows.cc
Result<std::vector<Point>> score_gemm(const Csv& table, const Scoring& scoring);             // AIConfigurator
Result<std::vector<Point>> score_azure_gemm(const Csv& table, const Scoring& scoring);       // Azure
Result<std::vector<Point>> score_llmcompass_gemm(const Csv& table, const Scoring& scoring);  // LLMCompass
Result<std::vector<Point>> score_layer_operators(const Csv& table, const Scoring& scoring);  // Vidur

// Attention kernels and collectives.                                                           traffic_rows.cc
Result<std::vector<Point>> score_attention(const Csv& table, const Scoring& scoring);         // AIConfigurator
Result<std::vector<Point>> score_nccl(const Csv& table, const Scoring& scoring);              // AIConfigurator
Result<std::vector<Point>> score_azure_all_reduce(const Csv& table, const Scoring& scoring);  // Azure
Result<std::vector<Point>> score_multinode(const Csv& table, const Scoring& scoring);         // ml-engineering
Result<std::vector<Point>> score_vidur_network(const Csv& table, const Scoring& scoring);     // Vidur

// Training steps.
Result<std::vector<Point>> score_vtrain(const Csv& table, const Scoring& scoring);  // training_megatron_rows.cc
Result<std::vector<Point>> score_korthikanti_times(const Csv& table,
                                                   const Scoring& scoring);  // training_megatron_rows.cc
Result<std::vector<Point>> score_korthikanti_memory(const Csv& table,
                                                    const Scoring& scoring);           // training_megatron_rows.cc
Result<std::vector<Point>> score_narayanan(const Csv& table, const Scoring& scoring);  // training_megatron_rows.cc
Result<std::vector<Point>> score_mlperf_training(const Csv& table, const Scoring& scoring);  // training_nvidia_rows.cc
Result<std::vector<Point>> score_megatron_bridge(const Csv& table, const Scoring& scoring);  // training_nvidia_rows.cc
Result<std::vector<Point>> score_torchtitan(const Csv& table, const Scoring& scoring);       // torchtitan_rows.cc
Result<std::vector<Point>> score_mosaic(const Csv& table, const Scoring& scoring);           // training_fsdp_rows.cc

// Recommendation.                                                                              dlrm_rows.cc
Result<std::vector<Point>> score_dlrm_training(const Csv& table, const Scoring& scoring);   // MLPerf training
Result<std::vector<Point>> score_dlrm_inference(const Csv& table, const Scoring& scoring);  // MLPerf inference

// Power at the plug.                                                                           energy_rows.cc
Result<std::vector<Point>> score_training_power(const Csv& table, const Scoring& scoring);   // MLPerf training
Result<std::vector<Point>> score_inference_power(const Csv& table, const Scoring& scoring);  // MLPerf inference
Result<std::vector<Point>> score_energy_anchors(const Csv& table, const Scoring& scoring);

}  // namespace photonrail::validation
