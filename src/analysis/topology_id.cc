#include "analysis/topology_id.h"

#include <fmt/format.h>
#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace photonrail::analysis {
namespace {

constexpr std::size_t kMaskStages = 64;

Status check_mask_stages(std::size_t stages) {
  if (stages <= kMaskStages) return {};
  return fail(ErrorCode::invalid_input,
              fmt::format("a bit mask holds {} stages, not {}\n  hint: use the decimal form", kMaskStages, stages));
}

}  // namespace

std::uint8_t topology_digit(model::Dimension dimension) {
  switch (dimension) {
    case model::Dimension::pipeline: return 0;
    case model::Dimension::data: return 1;
    case model::Dimension::context: return 2;
    case model::Dimension::expert: return 3;
    case model::Dimension::tensor: return 4;
    case model::Dimension::none:
    case model::Dimension::other: break;
  }
  return 5;
}

std::string encode_topology(std::span<const std::uint8_t> digits) {
  std::string text;
  for (const std::uint8_t digit : digits) {
    PR_CHECK(digit <= 9, "a topology digit is decimal");
    text.push_back(static_cast<char>('0' + digit));
  }
  return text;
}

Result<TopologyDigits> decode_topology(std::string_view text, std::size_t stages) {
  if (text.size() != stages) {
    return fail(ErrorCode::invalid_input,
                fmt::format("topology id '{}' has {} digits for {} stages\n  hint: one digit per stage, stage 0 "
                            "first, zeros included",
                            text.substr(0, 80), text.size(), stages));
  }
  TopologyDigits digits;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      return fail(ErrorCode::invalid_input,
                  fmt::format("topology id '{}': '{}' is not a digit", text.substr(0, 80), c));
    }
    digits.push_back(static_cast<std::uint8_t>(c - '0'));
  }
  return digits;
}

Result<std::uint64_t> pipeline_mask(std::span<const std::uint8_t> digits) {
  PR_TRY(check_mask_stages(digits.size()));
  std::uint64_t mask = 0;
  for (const std::uint8_t digit : digits)
    mask = mask << 1 | (digit == topology_digit(model::Dimension::pipeline) ? 1U : 0U);
  return mask;
}

Result<TopologyDigits> digits_of_mask(std::uint64_t mask, std::size_t stages) {
  PR_TRY(check_mask_stages(stages));
  if (stages < kMaskStages && mask >> stages != 0)
    return fail(ErrorCode::invalid_input, fmt::format("topology mask {} has bits beyond {} stages", mask, stages));
  TopologyDigits digits;
  for (std::size_t s = stages; s-- > 0;) {
    digits.push_back(topology_digit((mask >> s & 1) != 0 ? model::Dimension::pipeline : model::Dimension::data));
  }
  return digits;
}

std::vector<TopologyChange> topology_sequence(const model::RunResult& run, std::uint32_t rail, std::size_t stages) {
  std::vector<const model::CommRecord*> operations;
  for (const model::CommRecord& r : run.communications) {
    const bool in_range = r.stage < stages && r.stage_peer < stages;
    if (r.path == model::Path::rail && r.rail == rail && in_range) operations.push_back(&r);
  }
  std::sort(operations.begin(), operations.end(), [](const model::CommRecord* a, const model::CommRecord* b) {
    const auto key = [](const model::CommRecord* r) {
      return std::tuple(r->started, r->issued_last, r->finished, r->stage, r->group, r->ordinal);
    };
    return key(a) < key(b);
  });
  std::vector<TopologyChange> sequence{{{}, TopologyDigits(stages, topology_digit(model::Dimension::data))}};
  for (const model::CommRecord* r : operations) {
    TopologyDigits digits = sequence.back().digits;
    digits[r->stage] = topology_digit(r->dimension);
    if (r->collective == model::Collective::none) digits[r->stage_peer] = topology_digit(r->dimension);
    if (digits != sequence.back().digits) sequence.push_back({r->started, std::move(digits)});
  }
  return sequence;
}

}  // namespace photonrail::analysis
