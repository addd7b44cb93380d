// Message framing of NETCONF (RFC 6242), sans-IO: messages end with "]]>]]>" until both sides have said in their hello
// that they speak base:1.1, and come in chunks from then on. One object for one session; the first message each way is
// the hello.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace photonrail::device {

class NetconfFraming {
 public:
  static constexpr std::size_t kMessageMost = std::size_t{4} << 20;

  std::string frame(std::string_view message);     // what to send for it
  void feed(std::string_view bytes);               // from the peer, cut anywhere
  std::optional<std::string> next();               // the next whole message
  bool broken() const { return broken_; }          // framing was violated or a message is too large: hang up

 private:
  struct Side {
    bool spoken = false;     // has sent its hello
    bool chunks = false;     // which names base:1.1
  };
  bool in_chunks() const { return ours_.chunks && theirs_.chunks; }
  std::optional<std::string> next_ended();
  std::optional<std::string> next_chunked();
  bool take_chunk_header();

  Side ours_, theirs_;
  std::string pending_;          // bytes not yet worked off
  std::size_t scanned_ = 0;      // of pending_, without an end marker
  std::string message_;          // chunks so far
  std::size_t chunk_left_ = 0;
  bool done_ = false;            // the end of chunks was read
  bool broken_ = false;
};

}  // namespace photonrail::device
