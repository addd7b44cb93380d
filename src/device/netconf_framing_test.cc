#include "device/netconf_framing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace photonrail::device {
namespace {

constexpr const char* kHello11 = "<hello>urn:ietf:params:netconf:base:1.1</hello>";
constexpr const char* kHello10 = "<hello>urn:ietf:params:netconf:base:1.0</hello>";

// After both hellos.
NetconfFraming session(const char* ours, const char* theirs) {
  NetconfFraming framing;
  framing.frame(ours);
  framing.feed(std::string(theirs) + "]]>]]>");
  EXPECT_EQ(framing.next(), theirs);
  return framing;
}

TEST(NetconfFraming, EndsMessagesByAMarkerUntilBothSpeakChunks) {
  NetconfFraming framing;
  EXPECT_EQ(framing.frame(kHello11), std::string(kHello11) + "]]>]]>");
  framing.feed(std::string(kHello11) + "]]>]]>\n#4\n<rpc\n#19\n message-id=\"102\"/>\n##\n\n#1\nx\n##\n");
  EXPECT_EQ(framing.next(), kHello11);
  EXPECT_EQ(framing.next(), "<rpc message-id=\"102\"/>");
  EXPECT_EQ(framing.next(), "x");
  EXPECT_EQ(framing.next(), std::nullopt);
  EXPECT_FALSE(framing.broken());
  EXPECT_EQ(framing.frame("<a/>"), "\n#4\n<a/>\n##\n");
  EXPECT_EQ(session(kHello11, kHello10).frame("<a/>"), "<a/>]]>]]>");
  EXPECT_EQ(session(kHello10, kHello11).frame("<a/>"), "<a/>]]>]]>");
}

TEST(NetconfFraming, RefusesWhatIsNoChunk) {
  for (const char* bytes : {"<rpc/>", "\n##\n", "\n#0\n", "\n#04\nabcd\n##\n", "\n#-1\n", "\n#x\n", "\n#99999999999\n",
                            "\n#\n", "\n#12345678901234567890", "#4\nabcd"}) {
    NetconfFraming framing = session(kHello11, kHello11);
    framing.feed(bytes);
    EXPECT_EQ(framing.next(), std::nullopt) << bytes;
    EXPECT_TRUE(framing.broken()) << bytes;
  }
}

TEST(NetconfFraming, AllocatesNothingByAStatedSizeAndEndsInTheLimit) {
  NetconfFraming framing = session(kHello11, kHello11);
  framing.feed("\n#4294967295\n");
  const std::string mebibyte(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) {
    framing.feed(mebibyte);
    EXPECT_EQ(framing.next(), std::nullopt);
    EXPECT_FALSE(framing.broken());
  }
  framing.feed("x");
  framing.next();
  EXPECT_TRUE(framing.broken());

  NetconfFraming endless;
  for (int i = 0; i < 5; ++i) {
    endless.feed(mebibyte);
    endless.next();
  }
  EXPECT_TRUE(endless.broken());
}

RC_GTEST_PROP(NetconfFramingProperty, CarriesAnyMessagesCutAnywhere,
              (const std::vector<std::string>& messages, bool chunks)) {
  NetconfFraming sender = session(chunks ? kHello11 : kHello10, kHello11);
  NetconfFraming receiver = session(kHello11, chunks ? kHello11 : kHello10);
  std::string wire;
  std::vector<std::string> sent, received;
  for (const std::string& message : messages) {
    if (message.empty() || message.find(']') != message.npos) continue;
    wire += sender.frame(message);
    sent.push_back(message);
  }
  while (!wire.empty()) {
    const std::size_t cut = *rc::gen::inRange<std::size_t>(1, wire.size() + 1);
    receiver.feed(wire.substr(0, cut));
    wire.erase(0, cut);
    while (auto message = receiver.next()) received.push_back(*message);
  }
  RC_ASSERT(!receiver.broken());
  RC_ASSERT(received == sent);
}

RC_GTEST_PROP(NetconfFramingProperty, SurvivesAnyBytes, (const std::string& bytes, bool chunks)) {
  NetconfFraming framing = session(kHello11, chunks ? kHello11 : kHello10);
  framing.feed(bytes);
  for (std::size_t i = 0; framing.next(); ++i) RC_ASSERT(i <= bytes.size());
}

}  // namespace
}  // namespace photonrail::device
