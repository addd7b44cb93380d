#include "device/reconciler_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace photonrail::device::reconciling {

bool share_port(const CrossConnect& a, const CrossConnect& b) { return a.in == b.in || a.out == b.out; }

bool contains(const std::vector<CrossConnect>& sorted, const CrossConnect& pair) {
  return std::binary_search(sorted.begin(), sorted.end(), pair);
}

std::string text_of(const CrossConnect& pair) { return fmt::format("{}-{}", pair.in, pair.out); }

Active make_active(Intent intent) {
  Active a;
  for (const CrossConnect& pair : intent.remove) a.remove.emplace_back().pair = pair;
  for (const CrossConnect& pair : intent.add) a.add.emplace_back().pair = pair;
  a.intent = std::move(intent);
  return a;
}

Work* find(Active& a, const CrossConnect& pair) {
  for (std::vector<Work>* works : {&a.remove, &a.add}) {
    for (Work& w : *works) {
      if (w.pair == pair) return &w;
    }
  }
  return nullptr;
}

bool overlap(const Active& a, const Active& b) {
  for (const std::vector<Work>* mine : {&a.remove, &a.add}) {
    for (const Work& w : *mine) {
      for (const std::vector<Work>* theirs : {&b.remove, &b.add}) {
        for (const Work& v : *theirs) {
          if (share_port(w.pair, v.pair)) return true;
        }
      }
    }
  }
  return false;
}

std::string nonsense(const Intent& intent, Position inputs, Position outputs) {
  const auto outside = [&](const CrossConnect& pair) {
    return (inputs != 0 && pair.in >= inputs) || (outputs != 0 && pair.out >= outputs);
  };
  std::set<Position> in, out;
  for (const CrossConnect& pair : intent.add) {
    if (outside(pair)) return "the switch has no such port: " + text_of(pair);
    if (!in.insert(pair.in).second || !out.insert(pair.out).second) return "a port is added twice: " + text_of(pair);
    if (std::count(intent.remove.begin(), intent.remove.end(), pair)) return "added and removed: " + text_of(pair);
  }
  std::set<CrossConnect> removed;
  for (const CrossConnect& pair : intent.remove) {
    if (outside(pair)) return "the switch has no such port: " + text_of(pair);
    if (!removed.insert(pair).second) return "removed twice: " + text_of(pair);
  }
  return {};
}

IntentResult refused(const Active& a) {
  IntentResult result;
  result.id = a.intent.id;
  result.add.assign(a.add.size(), Outcome::rejected);
  result.remove.assign(a.remove.size(), Outcome::rejected);
  result.fenced = a.fenced;
  result.reason = a.reason;
  return result;
}

std::string frames_text(const std::vector<Frame>& sent) {
  constexpr std::size_t kMost = 16384;
  std::string text;
  for (const Frame& frame : sent) {
    for (const std::string* part : {&frame.verb, &frame.target}) text += part->empty() ? "" : *part + " ";
    text += frame.body;
  }
  if (text.size() > kMost) text.resize(kMost);
  return text;
}

void fill_before(WriteRecord& record, const std::vector<CrossConnect>& matrix) {
  for (const CrossConnect& pair : matrix) {
    const auto touches = [&](const CrossConnect& other) { return share_port(pair, other); };
    if (std::any_of(record.remove.begin(), record.remove.end(), touches) ||
        std::any_of(record.add.begin(), record.add.end(), touches)) {
      record.before.push_back(pair);
    }
  }
}

}  // namespace photonrail::device::reconciling
