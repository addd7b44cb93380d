// How rows of inference tables become configurations: names of models, GPUs and formats, and what engines do by
// default. The rules hold for all rows alike and look at no measured figure.
//
// Formats. "fp8" means what the maker of the model publishes: one scale per tensor for Llama, GPT-J, Falcon, Mistral
// and Mixtral (ModelOpt, TensorRT-LLM checkpoints), blocks of 128 x 128 for Qwen3, DeepSeek, MiniMax, GLM and Kimi
// (their own FP8 releases). "fp4" is NVFP4; of mixtures with latent attention only the experts are quantised to it,
// attention stays in fp8 (NVIDIA's NVFP4 releases of DeepSeek). "int4" quantises experts only (Kimi's release).
//
// Cache. The tables do not give its format. TensorRT-LLM with weights of 8 bits or fewer: fp8 (what ModelOpt
// checkpoints name, and what AIConfigurator, whose rows most of these are, deploys). vLLM: the checkpoint's, so fp8
// with ModelOpt's FP8 and NVFP4 and bf16 with block-scaled releases, which name none. SGLang keeps the model's own
// format ("auto"): bf16.
#pragma once

#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "inference/plan.h"

namespace photonrail::validation {

// "meta-llama/Llama-3.1-70B", "LLaMA 70B", "Qwen/Qwen3-235B-A22B-FP8": the catalog's model.
Result<catalog::Model> model_of(std::string_view text, const catalog::Catalog& catalog);

// "h100_sxm", "H200-SXM-141GB", "H100 GPUs (FP8)", "NVIDIA H100-SXM5-80GB": the catalog's GPU.
Result<catalog::Gpu> gpu_of(std::string_view text, const catalog::Catalog& catalog);

// `format` as tables write it: fp8, fp4, bf16, fp16, int4; "": bf16. `engine`: trtllm, vllm, sglang.
Result<inference::Precision> precision_of(std::string_view format, const catalog::Model& model,
                                          std::string_view engine);

bool is_dense(const catalog::Model& model);
// Trained with a head that predicts further tokens, which engines may use to speculate.
bool may_speculate(const catalog::Model& model);
// GPUs with kernel tables of their own for serving: H100, H200, B200, GB200.
bool has_kernel_tables(const catalog::Gpu& gpu);

}  // namespace photonrail::validation
