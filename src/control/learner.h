// Learner: foresees what one rank issues next from what it has issued, by repetition.
//
// The programme of a training job repeats step by step. Of the history, the distance D is sought at which the longest
// stretch up to now has been issued before (Z function of the reversed history); the next entry is the one D back.
// Longest match, because shorter ones lie: inside a run of equal entries, distance 1 matches as well. A match is
// trusted from `confidence` entries on. A trusted one that fails doubles that, and asks for at least twice what failed,
// up to four times its distance or kCaution: a loop inside the step then fails a few times and no more, and a changed
// step is trusted again after about four. It halves as entries come as foreseen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/digest.h"

namespace photonrail::control {

class Learner {
 public:
  using Entry = std::uint32_t;

  explicit Learner(std::uint32_t confidence = 8) : least_(confidence), needed_(confidence) {}

  // What followed from an entry.
  enum class Change : std::uint8_t { none, learnt, forgotten };
  Change append(Entry entry);
  // Forgets everything: there is a gap in what is known of the rank.
  void clear();

  bool trusted() const { return distance_ > 0 && matched_ >= needed_; }
  // The entry after `ahead` others (0: the next one). Absent while nothing is trusted.
  std::optional<Entry> foreseen(std::size_t ahead) const;
  // The last `count` entries are all `entry`.
  bool ends_with(Entry entry, std::size_t count) const;

  std::size_t distance() const { return distance_; }
  void add_to(Digest& digest) const;

 private:
  static constexpr std::size_t kHistory = 16384;  // a step with more operations than half of it is not learnt
  static constexpr std::uint32_t kCaution = 32;
  static constexpr std::uint32_t kMostCautious = 8192;

  bool follow(Entry entry);
  void search();
  void trim();

  std::uint32_t least_;
  std::uint32_t needed_;
  std::vector<Entry> history_;
  Digest all_;                  // of every entry since the last clear()
  std::size_t distance_ = 0;    // 0: none
  std::size_t matched_ = 0;     // entries up to now that repeat those `distance_` before
  std::size_t foreseen_right_ = 0;
  std::size_t since_search_ = 0;
};

}  // namespace photonrail::control
