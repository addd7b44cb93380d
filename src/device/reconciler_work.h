// What the reconciler knows of an intent while it works on it; plain data and pure functions of reconciler.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/reconciler.h"

namespace photonrail::device::reconciling {

// A remove or an add of an intent, on its way.
struct Work {
  CrossConnect pair;
  unsigned tries = 0;
  std::uint64_t sent_at_read = 0;     // number of the last read before the last write
  Outcome last = Outcome::applied;    // of the last write
  std::optional<Outcome> final = {};  // given up with
  bool seen = false;                  // adds: a read showed it
  bool settled = false;               // adds: light is there
  std::uint64_t judged_at_read = 0;   // number of the last read before the light was judged
  unsigned readings = 0;              // in a row, with light
  Instant settle_by = kNever;
};

struct Active {
  Intent intent;
  std::vector<Work> remove, add;
  bool conflict = false;
  bool fenced = false;
  std::string reason;
  Instant not_before{};               // of its next write
  Instant reading_at = kNever;        // next look at its outputs
  unsigned writes = 0;
};

bool share_port(const CrossConnect& a, const CrossConnect& b);
bool contains(const std::vector<CrossConnect>& sorted, const CrossConnect& pair);
std::string text_of(const CrossConnect& pair);

Active make_active(Intent intent);
Work* find(Active& a, const CrossConnect& pair);
bool overlap(const Active& a, const Active& b);     // they name a port in common

// Why the intent makes no sense, or empty. A size of 0 is not known.
std::string nonsense(const Intent& intent, Position inputs, Position outputs);
IntentResult refused(const Active& a);              // nothing was done


// For WriteRecord: what is sent as text, cut at 16 KiB; and the part of the matrix that the write touches.
std::string frames_text(const std::vector<Frame>& sent);
void fill_before(WriteRecord& record, const std::vector<CrossConnect>& matrix);

}  // namespace photonrail::device::reconciling
