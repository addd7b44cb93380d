#include "device/netconf_framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/dialect_text.h"

namespace photonrail::device {
namespace {

constexpr std::string_view kEnd = "]]>]]>";
constexpr std::string_view kEndOfChunks = "\n##\n";
constexpr std::string_view kChunks = "urn:ietf:params:netconf:base:1.1";
constexpr std::size_t kHeaderMost = 13;   // "\n#4294967295\n"

}  // namespace

std::string NetconfFraming::frame(std::string_view message) {
  const bool chunked = ours_.spoken && in_chunks();
  if (!ours_.spoken) ours_ = {true, message.find(kChunks) != message.npos};
  if (!chunked) return std::string(message).append(kEnd);
  if (message.empty()) return "";    // a chunk holds something
  return fmt::format("\n#{}\n{}{}", message.size(), message, kEndOfChunks);
}

void NetconfFraming::feed(std::string_view bytes) {
  if (broken_) return;
  pending_.append(bytes);
  // A peer that sends faster than messages are taken, or never ends one.
  if (pending_.size() + message_.size() > 2 * kMessageMost) broken_ = true;
}

std::optional<std::string> NetconfFraming::next() {
  if (broken_) return std::nullopt;
  std::optional<std::string> message = theirs_.spoken && in_chunks() ? next_chunked() : next_ended();
  if (message && !theirs_.spoken) theirs_ = {true, message->find(kChunks) != message->npos};
  if (broken_) std::string().swap(pending_);
  return message;
}

std::optional<std::string> NetconfFraming::next_ended() {
  const std::size_t end = pending_.find(kEnd, scanned_);
  if (end == pending_.npos) {
    scanned_ = pending_.size() - std::min(pending_.size(), kEnd.size() - 1);
    broken_ = pending_.size() > kMessageMost;
    return std::nullopt;
  }
  broken_ = end > kMessageMost;
  if (broken_) return std::nullopt;
  std::string message = pending_.substr(0, end);
  pending_.erase(0, end + kEnd.size());
  scanned_ = 0;
  return message;
}

std::optional<std::string> NetconfFraming::next_chunked() {
  while (!done_) {
    if (chunk_left_ == 0 && !take_chunk_header()) return std::nullopt;
    const std::size_t size = std::min(chunk_left_, pending_.size());
    message_.append(pending_, 0, size);
    pending_.erase(0, size);
    chunk_left_ -= size;
    broken_ = message_.size() > kMessageMost;
    if (broken_ || (chunk_left_ > 0 && pending_.empty())) return std::nullopt;
  }
  done_ = false;
  return std::exchange(message_, {});
}

// "\n#<size>\n" or "\n##\n"; false where it is not whole yet, or none.
bool NetconfFraming::take_chunk_header() {
  const std::string_view pending = pending_;
  const std::string_view begin = pending.substr(0, 2);
  broken_ = begin != std::string_view("\n#").substr(0, begin.size());
  if (broken_ || pending.size() < 3) return false;
  const std::size_t end = pending.find('\n', 2);
  if (end == pending.npos) {
    broken_ = pending.size() > kHeaderMost;
    return false;
  }
  const std::string_view text = pending.substr(2, end - 2);
  if (text == "#") {
    broken_ = message_.empty();
    done_ = !broken_;
    pending_.erase(0, end + 1);
    return done_;
  }
  const auto size = parse_natural(text, 0xffffffff);
  broken_ = !size || *size == 0 || text.front() == '0';
  if (broken_) return false;
  chunk_left_ = *size;
  pending_.erase(0, end + 1);
  return true;
}

}  // namespace photonrail::device
