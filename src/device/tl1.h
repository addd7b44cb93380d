// Transaction Language 1: messages and their framing, for clients and servers, whatever the dialect.
//
// Request:      VERB-MOD:TID:AID:CTAG:GENERAL:PAYLOAD;
// Response:     <cr><lf><lf>   SID YY-MM-DD HH:MM:SS<cr><lf>M  CTAG COMPLD<cr><lf>   "text"<cr><lf>;
//               A page that ends in > instead of ; is followed by the next one, with a header of its own.
// Autonomous:   the same with "A  ATAG REPT ..." (or * ** *C in place of A); may come between and inside responses.
// Prompts ("agent>", "<"), echoes and comments around messages are skipped.
// Source: Telcordia GR-831-CORE (grammar, completion codes, error codes); responses as printed in the tests of
// QualiSystems/cloudshell-L1-calient and the drivers of cloudshell-L1-polatis.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace photonrail::device::tl1 {

inline constexpr std::size_t kLineMax = 8192;
inline constexpr std::size_t kMessageMax = std::size_t{4} << 20;
inline constexpr std::size_t kRequestMax = 65536;

// RTRV: more of the same response follows.
enum class Completion : std::uint8_t { complete, deny, partial, delayed, retrieve };
const char* name(Completion completion);  // COMPLD, DENY, PRTL, DELAY, RTRV

struct Message {
  bool autonomous = false;
  std::string source;              // SID, without quotes
  std::string tag;                 // CTAG or ATAG
  Completion completion = Completion::complete;
  std::string verb;                // autonomous: "REPT ALM OCS"
  std::vector<std::string> lines;  // text, trimmed, quotes kept

  std::string error_code() const;              // of DENY: its four letters, "" when there are none
  std::string text() const;                    // lines joined by line feeds
  std::vector<std::string_view> data() const;  // quoted lines, without their quotes
};

// Messages out of a byte stream that is cut anywhere and full of other things.
class MessageReader {
 public:
  void feed(std::string_view bytes);
  std::optional<Message> next();
  void clear();
  std::size_t dropped() const { return dropped_; }  // messages that were too long, since clear()

 private:
  enum class State : std::uint8_t { seek, ident, body };
  void consume(char c);
  void end_line();
  bool take_header(std::string_view line);
  void take_ident(std::string_view line);
  void end_page();
  void end_message();
  void drop();

  State state_ = State::seek;
  std::string line_;
  bool quoted_ = false;
  bool overlong_ = false;
  Message current_;
  std::size_t size_ = 0;                // bytes of text in current_
  std::optional<Message> outer_;        // the response that an autonomous message interrupted
  std::optional<Message> pages_;        // of a response that goes on with the next header
  std::deque<Message> ready_;
  std::size_t dropped_ = 0;
};

struct Request {
  std::string verb;                  // upper case
  std::string target;                // TID without quotes
  std::string access;                // AID as written
  std::string tag;                   // "0" where the request has none
  std::vector<std::string> blocks;   // general block, payload blocks
  std::string_view block(std::size_t index) const {
    return index < blocks.size() ? std::string_view(blocks[index]) : std::string_view{};
  }
};
// `text` without its semicolon. Nothing for what is no request.
std::optional<Request> parse_request(std::string_view text);

// Requests out of a byte stream; each ends with a semicolon outside of quotes.
class RequestReader {
 public:
  void feed(std::string_view bytes);
  std::optional<std::string> next();

 private:
  std::string current_;
  bool quoted_ = false;
  bool overlong_ = false;
  std::deque<std::string> ready_;
};

// A value out of "AID:KEY=VALUE,KEY=VALUE".
std::optional<std::string_view> field(std::string_view line, std::string_view key);

// "1", "1&3", "1&&16": numbers in 1..max, at most `limit` of them; nothing when it is none of these.
std::optional<std::vector<std::uint32_t>> parse_numbers(std::string_view text, std::uint32_t max, std::size_t limit);

}  // namespace photonrail::device::tl1
