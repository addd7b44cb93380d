#include "validation/serving_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace photonrail::validation {
namespace {

using inference::Dtype;
using inference::Precision;

using Alias = std::pair<std::string_view, std::string_view>;

// Lower case, letters and digits only: "LLaMA 3 (70B)" is "llama370b".
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// The first alias that the squeezed text begins with, so longer ones stand first. "LLaMA" without a generation is the
// second in tables of 2023 and 2024: its 70B exists in no other, and its 7B has the first one's shape.
constexpr std::array kModels = {Alias{"llama31405b", "llama-3.1-405b"},
                                Alias{"llama3170b", "llama-3.1-70b"},
                                Alias{"llama3370b", "llama-3.3-70b"},
                                Alias{"llama318b", "llama-3.1-8b"},
                                Alias{"llama370b", "llama-3-70b"},
                                Alias{"llama38b", "llama-3-8b"},
                                Alias{"llama270b", "llama-2-70b"},
                                Alias{"llama27b", "llama-2-7b"},
                                Alias{"llama70b", "llama-2-70b"},
                                Alias{"llama7b", "llama-2-7b"},
                                Alias{"llama13b", "llama-2-13b"},
                                Alias{"llama4maverick", "llama-4-maverick"},
                                Alias{"maverick", "llama-4-maverick"},
                                Alias{"llama4scout", "llama-4-scout"},
                                Alias{"gptj", "gpt-j-6b"},
                                Alias{"falcon180b", "falcon-180b"},
                                Alias{"mistral7b", "mistral-7b"},
                                Alias{"mixtral8x22b", "mixtral-8x22b"},
                                Alias{"mixtral8x7b", "mixtral-8x7b"},
                                Alias{"qwen3235ba22b", "qwen3-235b-a22b"},
                                Alias{"qwen330ba3b", "qwen3-30b-a3b"},
                                Alias{"qwen332b", "qwen3-32b"},
                                Alias{"qwen38b", "qwen3-8b"},
                                Alias{"qwen35397ba17b", "qwen3.5-397b-a17b"},
                                Alias{"deepseekr1", "deepseek-r1"},
                                Alias{"deepseekv32", "deepseek-v3.2"},
                                Alias{"deepseekv31", "deepseek-v3.1"},
                                Alias{"deepseekv3", "deepseek-v3"},
                                Alias{"minimaxm25", "minimax-m2.5"},
                                Alias{"kimik25", "kimi-k2.5"},
                                Alias{"kimik2", "kimi-k2"},
                                Alias{"glm5", "glm-5"},
                                Alias{"gptoss120b", "gpt-oss-120b"},
                                Alias{"gptoss20b", "gpt-oss-20b"}};

constexpr std::array kGpus = {Alias{"gb300", "GB300"}, Alias{"gb200", "GB200"}, Alias{"b300", "B300"},
                              Alias{"b200", "B200"},   Alias{"h200", "H200"},   Alias{"h100", "H100"},
                              Alias{"l40s", "L40S"},   Alias{"a100", "A100"},   Alias{"mi300x", "MI300X"}};

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return text.starts_with(b); });
}

// Makers that publish fp8 with a scale per block.
bool has_block_scales(const catalog::Model& model) {
  return begins_with_any(model.name, {"qwen3", "deepseek", "minimax", "glm", "kimi"});
}

}  // namespace

Result<catalog::Model> model_of(std::string_view text, const catalog::Catalog& catalog) {
  const std::size_t slash = text.rfind('/');
  const std::string name = squeezed(slash == text.npos ? text : text.substr(slash + 1));
  for (const auto& [beginning, model] : kModels) {
    if (name.starts_with(beginning)) return catalog.model(model);
  }
  return fail(ErrorCode::invalid_input, fmt::format("no model of the catalog is known as '{}'", text));
}

Result<catalog::Gpu> gpu_of(std::string_view text, const catalog::Catalog& catalog) {
  const std::string name = squeezed(text);
  for (const auto& [part, gpu] : kGpus) {
    if (name.find(part) != name.npos) return catalog.gpu(gpu);
  }
  return fail(ErrorCode::invalid_input, fmt::format("no GPU of the catalog is known as '{}'", text));
}

Result<Precision> precision_of(std::string_view format, const catalog::Model& model, std::string_view engine) {
  const bool latent = model.kv_rank > 0;
  const bool block = has_block_scales(model);
  const bool trtllm = engine == "trtllm";
  const bool vllm = engine == "vllm";
  Precision p;
  if (format.empty() || format == "bf16" || format == "fp16") return p;
  if (format == "fp8") {
    p.weights = p.experts = block ? Dtype::fp8_block : Dtype::fp8;
    p.kv = trtllm || (vllm && !block) ? Dtype::fp8 : Dtype::bf16;
    return p;
  }
  if (format == "fp4" || format == "nvfp4") {
    p.experts = Dtype::nvfp4;
    p.weights = latent ? Dtype::fp8 : Dtype::nvfp4;
    p.kv = trtllm || vllm ? Dtype::fp8 : Dtype::bf16;
    return p;
  }
  if (format == "int4") {
    p.experts = Dtype::int4;
    return p;
  }
  return fail(ErrorCode::invalid_input, fmt::format("unknown precision '{}'", format));
}

bool is_dense(const catalog::Model& model) { return model.experts == 0; }

bool may_speculate(const catalog::Model& model) {
  return begins_with_any(model.name, {"deepseek", "glm-5", "qwen3.5", "minimax"});
}

bool has_kernel_tables(const catalog::Gpu& gpu) {
  return gpu.name == "H100" || gpu.name == "H200" || gpu.name == "B200" || gpu.name == "GB200";
}

}  // namespace photonrail::validation
