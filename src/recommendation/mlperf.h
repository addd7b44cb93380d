// The MLPerf Training benchmark DLRM-DCNv2 as submitters of HugeCTR run it (rounds 3.0 to 5.0).
//
// From the public definition (github.com/mlcommons/training, recommendation_v2) and the submitted program
// (github.com/mlcommons/training_results_v4.0, NVIDIA/benchmarks/dlrm_dcnv2): 26 tables of at most 40 M rows, width
// 128, fp32, AdaGrad with one state per weight; 214 lookups a sample, made from one-hot data by fixed sets; bottom
// layers 512-256-128, three cross layers of rank 512, top layers 1024-1024-512-256-1 in fp16; CUDA graphs; automatic
// sharding, tables below 0.008 GiB with their state replicated (0.0125 GiB and a hierarchical exchange on several
// nodes). The throughput that runs report is samples trained over the whole time of the run, so it carries
// evaluations of 89,137,319 samples after each 5 % of 4,195,197,692: 0.425 forward passes for each sample trained.
// Nothing here was chosen by looking at a measured throughput.
#pragma once

#include "recommendation/scenario.h"

namespace photonrail::recommendation {

struct DcnRun {
  std::string gpu;  // of the catalog
  std::int64_t gpus = 8;
  std::int64_t batch = 55'296;
};
Scenario mlperf_training(const DcnRun& run, std::int64_t domain);

}  // namespace photonrail::recommendation
