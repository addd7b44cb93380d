// TL1: framing, transcripts in the format of public drivers and their tests (sources in tl1.h and tl1_<maker>.cc), and
// the behaviour of the emulated boxes.
#include "device/tl1.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/conformance.h"
#include "device/tl1_driver.h"

namespace photonrail::device {
namespace {

using Pairs = std::vector<CrossConnect>;
using std::chrono::milliseconds;
using std::chrono::seconds;
using tl1::Completion;
using tl1::Message;

std::vector<Message> messages(const std::string& bytes) {
  tl1::MessageReader reader;
  reader.feed(bytes);
  std::vector<Message> result;
  while (auto message = reader.next()) result.push_back(std::move(*message));
  return result;
}

// Log-in and inventory as printed in the tests of cloudshell-L1-calient.
const std::string kLogin =
    "\r\n\n   CALIENT01TS 16-10-31 15:01:34\r\nM  1 COMPLD\r\n   \"zpollock:zpollock,2\"\r\n"
    "   /* NOTICE This is a private computer system. Unauthorized access or use may lead to prosecution.*/\r\n;"
    "\r\nagent>";
const std::string kElement =
    "\r\n\n   CALIENT01TS 16-10-31 15:03:06\r\nM  0 COMPLD\r\n   \"CALIENT01TS:SERIALNUMBER=C00002227,SWPACKAGE=6.0-3,"
    "STATUS=OK,CHASSISTYPE=S162,PLATFORM=VERSION2\"\r\n;\r\nagent>";

TEST(Tl1Messages, AreFoundBetweenPrompts) {
  const auto found = messages(kLogin + kElement);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].source, "CALIENT01TS");
  EXPECT_EQ(found[0].tag, "1");
  EXPECT_EQ(found[0].completion, Completion::complete);
  ASSERT_EQ(found[0].data().size(), 1U) << "the notice is no data";
  EXPECT_EQ(found[0].data()[0], "zpollock:zpollock,2");
  EXPECT_EQ(tl1::field(found[1].data()[0], "SERIALNUMBER"), "C00002227");
  EXPECT_EQ(tl1::field(found[1].data()[0], "SWPACKAGE"), "6.0-3");
  EXPECT_EQ(tl1::field(found[1].data()[0], "NUMBER"), std::nullopt);
}

// A prompt, an echo of the command and noise in front; a header without line feeds of its own.
TEST(Tl1Messages, AreFoundBehindAnything) {
  const auto found = messages("RTRV-HDR:::7:;\r\n\xff\x01;;\r\nagent>   sw 26-12-01 02:30:00\r\nM 7 COMPLD\r\n;");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].source, "sw");
  EXPECT_EQ(found[0].tag, "7");
}

TEST(Tl1Messages, CarryTheirErrorCode) {
  const auto found =
      messages("\r\n\n   sw 26-12-01 02:30:00\r\nM  9 DENY\r\n   IDNV\r\n   /* Input, Data Not Valid */\r\n;");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].completion, Completion::deny);
  EXPECT_EQ(found[0].error_code(), "IDNV");
}

TEST(Tl1Messages, KeepSemicolonsInQuotes) {
  const auto found = messages("\r\n   sw 26-12-01 02:30:00\r\nM  9 COMPLD\r\n   \"a;b>c\"\r\n   \"d\";");
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].data().size(), 2U);
  EXPECT_EQ(found[0].data()[0], "a;b>c");
}

TEST(Tl1Messages, JoinPagesWithAnAutonomousMessageBetween) {
  const std::string head = "\r\n\n   sw 26-12-01 02:30:00\r\n";
  const auto found = messages(head + "M  5 COMPLD\r\n   \"1,25\"\r\n>" + head +
                              "*C 12 REPT ALM PORT\r\n   \"25:CR\"\r\n;" + head +
                              "M  5 COMPLD\r\n   \"2,26\"\r\n;");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].autonomous);
  EXPECT_EQ(found[0].verb, "REPT ALM PORT");
  EXPECT_EQ(found[1].data(), (std::vector<std::string_view>{"1,25", "2,26"}));
}

TEST(Tl1Messages, MayInterruptAResponse) {
  const std::string head = "\r\n\n   sw 26-12-01 02:30:00\r\n";
  const auto found = messages(head + "M  5 COMPLD\r\n   \"1,25\"" + head +
                              "A  12 REPT EVT PORT\r\n   \"25:tuned\"\r\n;\r\n   \"2,26\"\r\n;");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].tag, "12");
  EXPECT_EQ(found[1].data(), (std::vector<std::string_view>{"1,25", "2,26"}));
}

TEST(Tl1Messages, PassOverAResponseThatLostItsEnd) {
  const std::string head = "\r\n\n   sw 26-12-01 02:30:00\r\n";
  const auto found = messages(head + "M  5 COMPLD\r\n   \"1,25\"" + head + "M  6 COMPLD\r\n   \"2,26\"\r\n;");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].tag, "6");
  EXPECT_EQ(found[0].data().size(), 1U);
}

TEST(Tl1Messages, AreBoundedInLengthOfLineAndText) {
  const std::string head = "\r\n\n   sw 26-12-01 02:30:00\r\nM  5 COMPLD\r\n";
  EXPECT_TRUE(messages(head + "\"" + std::string(20000, 'x') + "\"\r\n;").empty());
  tl1::MessageReader reader;
  reader.feed(head);
  for (int i = 0; i < 1200; ++i) reader.feed("\"" + std::string(4000, 'x') + "\"\r\n");
  reader.feed(";");
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.dropped(), 1U);
  reader.feed(head + ";");
  EXPECT_TRUE(reader.next()) << "and the next one is read";
}

RC_GTEST_PROP(Tl1Messages, AreTheSameHoweverTheyAreCut, (const std::vector<std::uint8_t>& cuts)) {
  const std::string bytes = kLogin + "\r\n\n   s 26-12-01 02:30:00\r\nA 3 REPT EVT X\r\n;" + kElement;
  tl1::MessageReader reader;
  std::string_view rest = bytes;
  for (const std::uint8_t cut : cuts) {
    reader.feed(rest.substr(0, cut));
    rest.remove_prefix(std::min<std::size_t>(cut, rest.size()));
  }
  reader.feed(rest);
  std::vector<std::string> texts;
  while (auto message = reader.next()) texts.push_back(message->tag + message->text());
  std::vector<std::string> whole;
  for (const Message& message : messages(bytes)) whole.push_back(message.tag + message.text());
  RC_ASSERT(texts == whole);
  RC_ASSERT(whole.size() == 3U);
}

TEST(Tl1Requests, HaveTheirParts) {
  const auto request = tl1::parse_request("\r\nent-crs::1.1.1,1.2.1:2::Opus,2WAY,job7");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, "ENT-CRS");
  EXPECT_EQ(request->access, "1.1.1,1.2.1");
  EXPECT_EQ(request->tag, "2");
  EXPECT_EQ(request->block(1), "Opus,2WAY,job7");
  EXPECT_EQ(tl1::parse_request("RTRV-NE")->tag, "0");
  EXPECT_EQ(tl1::parse_request("RTRV-NETYPE:\"a:b\"::2:")->target, "a:b");
  for (const char* text : {"", " ", ":::", "RTRV HDR", "A;B", "\xff"}) EXPECT_FALSE(tl1::parse_request(text)) << text;
}

TEST(Tl1Requests, NumbersComeInListsAndRanges) {
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(tl1::parse_numbers("7", 48, 48), (Numbers{7}));
  EXPECT_EQ(tl1::parse_numbers("1&3", 48, 48), (Numbers{1, 3}));
  EXPECT_EQ(tl1::parse_numbers("1&&4&9", 48, 48), (Numbers{1, 2, 3, 4, 9}));
  for (const char* text : {"", "&", "1&", "1&&", "&&4", "0", "49", "4&&1", "a", "1&&&4"}) {
    EXPECT_FALSE(tl1::parse_numbers(text, 48, 48)) << text;
  }
  EXPECT_FALSE(tl1::parse_numbers("1&&48", 48, 10)) << "more than the limit";
}

// ---- Drivers against replies written by hand.

class Agent {
 public:
  Agent(Dialect dialect, Credentials credentials = {}) : driver(make_driver(dialect, std::move(credentials))) {
    driver->connected();
  }
  // The request that waits, without its end, and with # in place of its tag.
  std::string asked() {
    const auto frames = driver->take_frames();
    EXPECT_EQ(frames.size(), 1U);
    std::string text = frames.empty() ? "" : frames[0].body;
    while (!text.empty() && (text.back() == '\n' || text.back() == ';')) text.pop_back();
    tag = tl1::parse_request(text).value_or(tl1::Request{}).tag;
    const auto at = text.find(":" + tag + ":");
    return at == std::string::npos ? text : text.replace(at + 1, tag.size(), "#");
  }
  void says(const std::string& bytes) {
    Frame frame;
    frame.body = bytes;
    driver->receive(frame);
  }
  void reply(const std::string& completion, const std::vector<std::string>& lines = {}) {
    std::string text = "\r\n\n   sw 26-12-01 02:30:00\r\nM  " + tag + " " + completion;
    for (const std::string& line : lines) text += "\r\n   " + line;
    says(text + "\r\n;\r\n");
  }
  // Asks for what waits and replies to it.
  std::string answered(const std::vector<std::string>& lines = {}, const std::string& completion = "COMPLD") {
    std::string text = asked();
    reply(completion, lines);
    return text;
  }
  Answer answer() {
    auto answer = driver->take_answer();
    EXPECT_TRUE(answer);
    return answer.value_or(Answer{});
  }
  void begin(Command::Kind kind, Pairs pairs = {}) { driver->begin({kind, std::move(pairs), {}, true}); }

  std::unique_ptr<Driver> driver;
  std::string tag;
};

void identify_polatis(Agent& box) {
  EXPECT_EQ(box.answered(), "RTRV-HDR:::#:");
  EXPECT_EQ(box.answered({"\"Polatis,I-OST-24x24-LU1,OCS,6.5.2.18\""}), "RTRV-NETYPE:\"sw\"::#:");
  EXPECT_EQ(box.answered({"\"OCS:PN=1,SN=002414,DATE=x\""}), "RTRV-INV:\"sw\":OCS:#:");
  EXPECT_EQ(box.answered({"\"SYSTEM:SIZE=24x24\""}), "RTRV-EQPT:\"sw\":SYSTEM:#:::PARAMETER=SIZE");
  EXPECT_EQ(box.answered({"ENEQ"}, "DENY"), "RTRV-PORT-POWER:\"sw\":25:#:");
  EXPECT_EQ(box.answered({"\"25:OPEN\""}), "RTRV-PORT-SHUTTER:\"sw\":25:#:");
}

TEST(PolatisTl1, FollowsTheTranscriptOfPublicDrivers) {
  Agent box(Dialect::polatis_tl1, {"root", "root"});
  EXPECT_EQ(box.answered(), "ACT-USER::root:#::root");
  identify_polatis(box);
  const Answer identified = box.answer();
  EXPECT_EQ(identified.outcome, Outcome::applied);
  EXPECT_EQ(identified.identity.serial, "002414");
  EXPECT_EQ(identified.identity.firmware, "6.5.2.18");
  EXPECT_EQ(identified.identity.outputs, 24);
  EXPECT_FALSE(box.driver->capabilities().power);

  box.begin(Command::Kind::read);
  EXPECT_EQ(box.answered({"\"1,25\"", "\"3,30\""}), "RTRV-PATCH:\"sw\"::#:");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 0}, {2, 5}}));

  box.begin(Command::Kind::add, {{1, 1}});
  EXPECT_EQ(box.answered(), "ENT-PATCH:\"sw\":2,26:#:");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);

  box.begin(Command::Kind::remove, {{0, 0}, {1, 5}});
  box.answered({"\"1,25\"", "\"2,26\""});
  EXPECT_EQ(box.answered(), "DLT-PATCH:\"sw\":1:#:") << "2,26 is not the patch that was named";
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(PolatisTl1, UsesNoTargetWhereNoneIsSet) {
  Agent box(Dialect::polatis_tl1);
  box.asked();
  box.says("\r\n   ( nil ) 26-12-01 02:30:00\r\nM  " + box.tag + " COMPLD\r\n;");
  EXPECT_EQ(box.asked(), "RTRV-NETYPE:::#:");
}

TEST(PolatisTl1, TellsHowEachPairWent) {
  Agent box(Dialect::polatis_tl1);
  identify_polatis(box);
  box.answer();
  box.begin(Command::Kind::add, {{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  box.answered();
  box.answered({"IDNV", "/* in use */"}, "DENY");
  box.answered({"SROF"}, "DENY");
  box.answered({}, "PRTL");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_EQ(answer.pairs, (std::vector{Outcome::applied, Outcome::rejected, Outcome::failed, Outcome::failed}));
  EXPECT_NE(answer.device_text.find("in use"), std::string::npos);
}

TEST(PolatisTl1, KnowsDelayAndRetrieve) {
  Agent box(Dialect::polatis_tl1);
  identify_polatis(box);
  box.answer();
  box.begin(Command::Kind::add, {{0, 0}});
  box.answered({}, "DELAY");
  EXPECT_EQ(box.answer().outcome, Outcome::unknown) << "it may be done later";
  box.begin(Command::Kind::read);
  box.asked();
  box.reply("RTRV", {"\"1,25\""});
  EXPECT_FALSE(box.driver->take_answer()) << "more follows";
  box.reply("COMPLD", {"\"2,26\""});
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 0}, {1, 1}}));
}

TEST(Tl1Driver, TakesOnlyTheResponseWithItsTag) {
  Agent box(Dialect::polatis_tl1);
  identify_polatis(box);
  box.answer();
  box.begin(Command::Kind::read);
  box.asked();
  const std::string old = box.tag;
  box.driver->expire();
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_FALSE(box.driver->wants_new_connection()) << "tags tell replies apart";
  box.begin(Command::Kind::read);
  box.asked();
  const std::string now = box.tag;
  EXPECT_NE(now, old);
  for (const std::string& other : {old, std::string("0"), now + "0", "0" + now}) {
    box.tag = other;
    box.reply("COMPLD", {"\"1,25\""});
    EXPECT_FALSE(box.driver->take_answer()) << other;
  }
  box.tag = now;
  box.reply("COMPLD", {"\"2,26\""});
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{1, 1}}));
}

TEST(Tl1Driver, LogsInAgainWhenItWasLoggedOut) {
  Agent box(Dialect::polatis_tl1, {"root", "secret"});
  box.answered();
  identify_polatis(box);
  box.answer();
  box.begin(Command::Kind::add, {{0, 0}});
  box.answered({"PLNA", "/* Login Not Active */"}, "DENY");
  EXPECT_EQ(box.answered(), "ACT-USER::root:#::secret");
  EXPECT_EQ(box.answered(), "ENT-PATCH:\"sw\":1,25:#:");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(Tl1Driver, TakesAlreadyLoggedInForSuccess) {
  Agent box(Dialect::polatis_tl1, {"root", "secret"});
  box.answered({"\"Already logged in\""}, "DENY");
  EXPECT_EQ(box.asked().substr(0, 8), "RTRV-HDR");
}

TEST(Tl1Driver, GivesUpALoginThatNeverHolds) {
  Agent box(Dialect::polatis_tl1, {"root", "secret"});
  int tries = 0;
  for (; tries < 200; ++tries) {
    box.answered({"/* Login Not Active */"}, "DENY");
    if (box.driver->take_answer()) break;
  }
  EXPECT_GT(tries, 10);
  EXPECT_LT(tries, 100);
}

TEST(Tl1Driver, QuotesCredentialsAndHidesThePassword) {
  Agent box(Dialect::polatis_tl1, {"op:1", "a;b,c"});
  EXPECT_EQ(box.asked(), "ACT-USER::\"op:1\":#::\"a;b,c\"");
  Agent echo(Dialect::polatis_tl1, {"root", "s3cret"});
  echo.asked();
  echo.reply("DENY", {"PIUI", "/* ACT-USER root s3cret: refused */"});
  const Answer answer = echo.answer();
  EXPECT_EQ(answer.outcome, Outcome::rejected);
  EXPECT_EQ(answer.device_text, "PIUI\n/* ACT-USER root ******: refused */");
  Agent never(Dialect::polatis_tl1, {"root", "a\"b"});
  EXPECT_TRUE(never.driver->take_frames().empty()) << "it would end the quotes";
  EXPECT_EQ(never.answer().outcome, Outcome::rejected);
}

TEST(Tl1Driver, MakesEventsOfAutonomousMessages) {
  Agent box(Dialect::polatis_tl1);
  identify_polatis(box);
  box.answer();
  box.says("\r\n\n   sw 26-12-01 02:30:00\r\n*C 7 REPT ALM PORT\r\n   \"26:CR,FAILED,SA\"\r\n;");
  box.says("\r\n\n   sw 26-12-01 02:30:00\r\nA  8 REPT DBCHG\r\n   \"ENT-PATCH\"\r\n;");
  const auto events = box.driver->take_events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, Event::Kind::alarm);
  EXPECT_EQ(events[0].outputs, (std::vector<Position>{1}));
  EXPECT_EQ(events[1].kind, Event::Kind::connections_changed);
  for (int i = 0; i < 1000; ++i) box.says("\r\n   sw 26-12-01 02:30:00\r\nA  8 REPT EVT X\r\n;");
  EXPECT_LE(box.driver->take_events().size(), 256U) << "a flood is bounded";
}

const std::vector<std::string> kCalientPorts{
    "\"2.3.6:WX,NONE,NONE:INAS=OOS-NP,INOS=OOS,INOC=OK,INRS=NPR,OUTAS=OOS-NP,OUTOS=OOS,OUTOC=OK,OUTRS=NPR\"",
    "\"3.2.5:WX,NONE,NONE:INAS=OOS-NP,INOS=OOS,INOC=OK,INRS=NPR,OUTAS=OOS-NP,OUTOS=OOS,OUTOC=OK,OUTRS=NPR\"",
    "\"2.8.5:WX,NONE,NONE:INAS=OOS-NP,INOS=OOS,INOC=OK,INRS=NPR,OUTAS=OOS-NP,OUTOS=OOS,OUTOC=OK,OUTRS=NPR\"",
    "\"2.3.3:WX,TRANSIT,TRANSIT:INAS=IS,INOS=IS,INOC=OK,INRS=NPR,OUTAS=OOS-MA,OUTOS=IS,OUTOC=OK,OUTRS=NPR\""};
const std::string kTwoWay =
    "\"2.3.6-3.2.5:SRCPORT=2.3.6,DSTPORT=3.2.5,GRPNAME=DSTRAUB,CONNNAME=2.3.6-3.2.5,CONNTYPE=2WAY,AS=UMA,OS=RDY,OC=OK,"
    "PS=UPR,AL=CL\"";
const std::string kOneWay =
    "\"2.8.5>2.3.3:SRCPORT=2.8.5,DSTPORT=2.3.3,GRPNAME=DSTRAUB,CONNNAME=2.8.5>2.3.3,CONNTYPE=1WAY,AS=UMA,OS=RDY,"
    "OC=FAIL,PS=UPR,AL=CL\"";

void identify_calient(Agent& box) {
  EXPECT_EQ(box.answered({"\"CALIENT01TS:SERIALNUMBER=C00002227,SWPACKAGE=6.0-3,STATUS=OK,CHASSISTYPE=S162,X=Y\""}),
            "RTRV-NE:::#:");
  EXPECT_EQ(box.answered(kCalientPorts), "RTRV-PORT::0:#:");
}

TEST(CalientTl1, ReadsTheTranscriptsOfAPublicDriver) {
  Agent box(Dialect::calient_tl1);
  identify_calient(box);
  const Answer identified = box.answer();
  EXPECT_EQ(identified.identity.serial, "C00002227");
  EXPECT_EQ(identified.identity.model, "S162");
  EXPECT_EQ(identified.identity.firmware, "6.0-3");
  EXPECT_EQ(identified.identity.inputs, 4);

  box.begin(Command::Kind::read);
  EXPECT_EQ(box.answered({kTwoWay, kOneWay}), "RTRV-CRS:::#::ALL");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 1}, {1, 0}, {2, 3}}));

  box.driver->begin({Command::Kind::readings, {}, {}, true});
  box.answered({kTwoWay, kOneWay});
  box.answered(kCalientPorts);
  EXPECT_EQ(box.answered({"\"2.3.6:ALIAS=NONE,INPWR=NONE,OUTPWR=-3.2,CONNNAME1=2.3.6-3.2.5,CONNSTATE1=ACT\"",
                          "\"2.3.3:ALIAS=NONE,INPWR=NONE,OUTPWR=NONE,CONNNAME1=2.8.5>2.3.3,CONNSTATE1=ACT\""}),
            "RTRV-PORT-SUM::0:#:");
  const auto outputs = box.answer().snapshot.outputs;
  ASSERT_EQ(outputs.size(), 4U);
  EXPECT_EQ(outputs[0].status, PortStatus::tuned);
  EXPECT_EQ(outputs[0].power_dbm, -3.2);
  EXPECT_EQ(outputs[1].status, PortStatus::tuned);
  EXPECT_EQ(outputs[2].status, PortStatus::blocked);
  EXPECT_EQ(outputs[3].status, PortStatus::disabled);
  EXPECT_LT(outputs[3].power_dbm.value_or(0), -50);
}

TEST(CalientTl1, EntersAndActivatesThenCancelsAndDeletes) {
  Agent box(Dialect::calient_tl1);
  identify_calient(box);
  box.answer();
  box.begin(Command::Kind::add, {{2, 0}});
  box.answered();
  EXPECT_EQ(box.answered(), "ENT-CRS::2.8.5,2.3.6:#::photonrail,1WAY,2.8.5>2.3.6");
  EXPECT_EQ(box.answered(), "ACT-CRS::2.8.5,2.3.6:#::2.8.5>2.3.6,photonrail");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);

  box.begin(Command::Kind::remove, {{2, 3}});
  box.answered({kTwoWay, kOneWay});
  EXPECT_EQ(box.answered(), "CANC-CRS::2.8.5,2.3.3:#::2.8.5>2.3.3,DSTRAUB");
  EXPECT_EQ(box.answered(), "DLT-CRS::2.8.5,2.3.3:#::,DSTRAUB,2.8.5>2.3.3");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(CalientTl1, RemovesATwoWayConnectionWholeOrNotAtAll) {
  Agent box(Dialect::calient_tl1);
  identify_calient(box);
  box.answer();
  box.begin(Command::Kind::remove, {{0, 1}});
  box.answered({kTwoWay});
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
  EXPECT_TRUE(box.driver->take_frames().empty());
  box.begin(Command::Kind::remove, {{0, 1}, {1, 0}});
  box.answered({kTwoWay});
  EXPECT_EQ(box.answered().substr(0, 21), "CANC-CRS::2.3.6,3.2.5");
  EXPECT_EQ(box.answered().substr(0, 20), "DLT-CRS::2.3.6,3.2.5");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.pairs, (std::vector{Outcome::applied, Outcome::applied}));
}

// The first half was done: to call the second half's refusal a refusal would be wrong.
TEST(CalientTl1, ARefusedActivationIsAFailure) {
  Agent box(Dialect::calient_tl1);
  identify_calient(box);
  box.answer();
  box.begin(Command::Kind::add, {{2, 0}});
  box.answered();
  box.answered();
  box.answered({"SNVS"}, "DENY");
  EXPECT_EQ(box.answer().outcome, Outcome::failed);
}

TEST(GlimmerglassTl1, ReadsTheTranscriptsOfPublicClients) {
  Agent box(Dialect::glimmerglass_tl1);
  EXPECT_EQ(box.answered({"\"GGN:SerialNumber=GG0042\"", "\"GGN:SystemType=IOS\"", "\"GGN:ChassisType=S300\"",
                          "\"GGN:SoftwareActiveVersion=4.1\"", "\"GGN:LicensedPortMatrix=64x64\""}),
            "RTRV-SYSTEM-INFO:::#:");
  const Answer identified = box.answer();
  EXPECT_EQ(identified.identity.serial, "GG0042");
  EXPECT_EQ(identified.identity.model, "S300");
  EXPECT_EQ(identified.identity.outputs, 64);

  const std::string row =
      "\"GGN:IPORTID=10046,IPORTNAME=,OPORTID=20047,OPORTNAME=,CONNID=0,CONNSTATE=steady,CONNCAUSE=none,INPWR=-5.873,"
      "OUTPWR=-6.762,PWRLOSS=0.889\"";
  box.begin(Command::Kind::read);
  EXPECT_EQ(box.answered({row, "\"GGN:IPORTID=0,IPORTNAME=,OPORTID=20001,OPORTNAME=,CONNID=0,CONNSTATE=none\""}),
            "RTRV-CRS-FIBER::ALL:#:");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{45, 46}}));

  box.begin(Command::Kind::readings);
  box.answered({row});
  box.answered({"\"GGN:PORTID=20003,PORTNAME=OUT3,PORTHEALTH=bad\""});
  const auto outputs = box.answer().snapshot.outputs;
  EXPECT_EQ(outputs.at(46).status, PortStatus::tuned);
  EXPECT_EQ(outputs.at(46).power_dbm, -6.762);
  EXPECT_EQ(outputs.at(2).status, PortStatus::failed);

  box.begin(Command::Kind::add, {{0, 0}, {1, 1}});
  EXPECT_EQ(box.answered(), "ENT-CRS-FIBER::10001&10002,20001&20002:#:::OPMODE=Async");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  box.begin(Command::Kind::remove, {{45, 46}, {0, 0}});
  box.answered({row});
  EXPECT_EQ(box.answered(), "DLT-CRS-FIBER::10046,20047:#:::OPMODE=Async");
}

// ---- Emulated boxes.

struct Tl1BoxTest : testing::Test {
  void begin(Dialect dialect, FrontEndOptions options = {}, SwitchModelSpec spec = {}) {
    box = std::make_unique<EmulatedBox>(dialect, spec, options);
    connection = box->open(now);
  }
  std::string raw(const std::string& request) {
    Frame frame;
    frame.body = request;
    box->send(connection, frame, now);
    now += seconds(1);
    std::string text;
    while (const auto reply = box->take(connection, now)) text += reply->frame.body;
    return text;
  }
  // The responses to a request; autonomous messages are left out.
  Message ask(const std::string& request) {
    for (Message& message : messages(raw(request))) {
      if (!message.autonomous) return std::move(message);
    }
    ADD_FAILURE() << "no response to " << request;
    return {};
  }
  std::unique_ptr<EmulatedBox> box;
  ConnectionId connection = 0;
  Instant now{};
};

TEST_F(Tl1BoxTest, FramesAsThePublicDriversExpect) {
  begin(Dialect::polatis_tl1);
  EXPECT_EQ(raw("RTRV-HDR:::3:;"), "\r\n\n   polatis-0001 26-01-01 00:00:00\r\nM  3 COMPLD\r\n;\r\n");
  begin(Dialect::calient_tl1);
  EXPECT_EQ(raw("RTRV-NE;").substr(0, 48), "\r\n\n   CALIENT01TS 26-01-01 00:00:01\r\nM  0 COMPLD");
  EXPECT_EQ(raw("X;").substr(raw("X;").size() - 9), ";\r\nagent>");
  begin(Dialect::glimmerglass_tl1);
  const std::string text = raw("rtrv-crs-fiber::all:1;");
  EXPECT_EQ(text.substr(text.size() - 4), ";\r\n<");
}

TEST_F(Tl1BoxTest, DeniesWithTheCodesOfTelcordia) {
  begin(Dialect::polatis_tl1);
  EXPECT_EQ(ask("NONSENSE:::1:;").error_code(), "IICM");
  EXPECT_EQ(ask(":::1:;").error_code(), "IISP");
  EXPECT_EQ(ask("RTRV-PATCH:other::1:;").error_code(), "IITA");
  EXPECT_EQ(ask("ENT-PATCH::1,99:1:;").error_code(), "IDNV");
  EXPECT_EQ(ask("ENT-PATCH::1:1:;").error_code(), "IIAC");
  EXPECT_EQ(ask("ENT-PATCH::1,17:1:;").completion, Completion::complete);
  EXPECT_EQ(ask("ENT-PATCH::2,17:1:;").error_code(), "SNVS");
  EXPECT_EQ(ask("DLT-PATCH::5:1:;").error_code(), "SNVS");
  box->model().force("busy");
  EXPECT_EQ(ask("ENT-PATCH::3,19:1:;").error_code(), "SARB");
  box->model().force("applied_but_error");
  EXPECT_EQ(ask("ENT-PATCH::3,19:1:;").error_code(), "SROF");
  EXPECT_EQ(ask("OPR-PORT-SHUTTER::1:1:;").error_code(), "ENEQ");
}

TEST_F(Tl1BoxTest, PolatisKnowsListsShuttersAndPower) {
  begin(Dialect::polatis_tl1);
  ask("ENT-PATCH::1&2&3,17&18&20:1:;");
  EXPECT_EQ(ask("RTRV-PATCH:::2:;").data(), (std::vector<std::string_view>{"1,17", "2,18", "3,20"}));
  ask("DLT-PATCH::1&20:3:;");
  EXPECT_EQ(ask("RTRV-PATCH:::4:;").data().size(), 1U);
  ask("OPR-PORT-SHUTTER::17&&18:5:;");
  EXPECT_EQ(ask("RTRV-PORT-SHUTTER::16&&19:6:;").text(), "\"16:OPEN\"\n\"17:CLOSED\"\n\"18:CLOSED\"\n\"19:OPEN\"");
  ask("RLS-PORT-SHUTTER::17&&18:7:;");
  EXPECT_EQ(ask("RTRV-PORT-POWER::17:8:;").text(), "\"17:-60.00\"");
  EXPECT_EQ(ask("RTRV-PORT-POWER::1&&16:8:;").error_code(), "ENEQ");
  EXPECT_EQ(ask("RTRV-PORT-PMON::17:8:;").data().size(), 1U);
  ask("DLT-PATCH::ALL:9:;");
  EXPECT_TRUE(ask("RTRV-PATCH:::4:;").data().empty());
}

TEST_F(Tl1BoxTest, SessionsLogInAndAreLoggedOutWhenIdle) {
  FrontEndOptions options;
  options.credentials = {"root", "secret"};
  begin(Dialect::polatis_tl1, options);
  EXPECT_EQ(ask("RTRV-PATCH:::1:;").error_code(), "PLNA");
  EXPECT_EQ(ask("ACT-USER::root:2::wrong;").error_code(), "PIUI");
  EXPECT_EQ(ask("ACT-USER::root:2::secret;").completion, Completion::complete);
  EXPECT_NE(ask("ACT-USER::root:2::secret;").text().find("Already logged in"), std::string::npos);
  EXPECT_EQ(ask("ED-EQPT::TIMEOUT:3:::ADMIN=60;").completion, Completion::complete);
  now += seconds(50);
  EXPECT_EQ(ask("RTRV-PATCH:::4:;").completion, Completion::complete);
  now += seconds(61);
  EXPECT_EQ(ask("RTRV-PATCH:::5:;").error_code(), "PLNA");
  EXPECT_EQ(ask("ACT-USER::root:6::secret;").completion, Completion::complete);
  EXPECT_EQ(ask("CANC-USER::root:7:;").completion, Completion::complete);
  EXPECT_EQ(ask("RTRV-PATCH:::8:;").error_code(), "PLNA");
}

TEST_F(Tl1BoxTest, CalientConnectionsHaveALife) {
  begin(Dialect::calient_tl1);
  const auto state = [&] {
    const Message list = ask("RTRV-CRS:::::ALL;");
    return list.data().empty() ? std::string() : std::string(*tl1::field(list.data()[0], "OS"));
  };
  EXPECT_EQ(ask("ACT-CRS::1.1.1,1.2.1:1::x,Opus;").error_code(), "IIAC") << "not entered";
  ask("ENT-CRS::1.1.1,1.2.1:2::Opus,2WAY,job7;");
  EXPECT_EQ(state(), "OOS");
  EXPECT_TRUE(box->model().connections(now).empty());
  EXPECT_EQ(ask("ENT-CRS::1.1.1,1.2.1:2::Opus,2WAY,job7;").error_code(), "SNVS");
  ask("ACT-CRS::1.1.1,1.2.1:3::1.1.1-1.2.1,Opus;");
  EXPECT_EQ(box->model().connections(now), (Pairs{{0, 8}, {8, 0}}));
  EXPECT_EQ(state(), "RDY");
  EXPECT_NE(ask("RTRV-PORT-SUM::1.1.1;").text().find("CONNNAME1=job7,CONNSTATE1=ACT"), std::string::npos);
  EXPECT_EQ(ask("DLT-CRS::1.1.1,1.2.1:5::,Opus,job7;").error_code(), "SNVS") << "in service";
  ask("CANC-CRS::1.1.1,1.2.1:4::1.1.1-1.2.1,Opus;");
  EXPECT_TRUE(box->model().connections(now).empty());
  ask("DLT-CRS::1.1.1,1.2.1:5::,Opus,job7;");
  EXPECT_EQ(state(), "");
}

TEST_F(Tl1BoxTest, CalientBulkIsPolled) {
  SwitchModelSpec spec;
  spec.command_time = seconds(5);
  begin(Dialect::calient_tl1, {}, spec);
  raw("ENT-CRS-BULK::1.1.1>1.2.1&1.1.2-1.1.3:1;");
  EXPECT_EQ(box->model().connections(now), (Pairs{{0, 8}, {1, 2}, {2, 1}}));
  Frame frame;
  frame.body = "RTRV-SAVERECALL:::2;";
  box->send(connection, frame, now);
  now += seconds(20);
  std::string text;
  while (const auto reply = box->take(connection, now)) text += reply->frame.body;
  EXPECT_NE(text.find("progress"), std::string::npos);
  box->send(connection, frame, now);
  now += seconds(20);
  while (const auto reply = box->take(connection, now)) text += reply->frame.body;
  EXPECT_NE(text.find("Completed"), std::string::npos);
  raw("DLT-CRS-ALL:::3;");
  EXPECT_TRUE(box->model().connections(now).empty());
}

// What another user has entered without activating is no circuit; an add puts it in service.
TEST_F(Tl1BoxTest, CalientEntriesOfOthersAreActivated) {
  begin(Dialect::calient_tl1);
  ask("ENT-CRS::1.1.1,1.2.1:2::Opus,1WAY,job7;");
  Carrier line(*box);
  ASSERT_EQ(line.connect().outcome, Outcome::applied);
  EXPECT_TRUE(line.read().snapshot.connections.empty());
  EXPECT_EQ(line.add({{0, 8}}).outcome, Outcome::applied);
  EXPECT_EQ(line.read().snapshot.connections, (Pairs{{0, 8}}));
  EXPECT_EQ(line.remove({{0, 8}}).outcome, Outcome::applied);
  EXPECT_TRUE(line.read().snapshot.connections.empty());
}

TEST(Tl1Variants, PagesAreJoined) {
  FrontEndOptions options;
  options.firmware_variant = "paging";
  for (const Dialect dialect : {Dialect::polatis_tl1, Dialect::calient_tl1, Dialect::glimmerglass_tl1}) {
    EmulatedBox box(dialect, {}, options);
    Carrier line(box);
    ASSERT_EQ(line.connect().outcome, Outcome::applied) << name(dialect);
    Pairs pairs;
    for (Position i = 0; i < 16; ++i) pairs.push_back({i, static_cast<Position>(15 - i)});
    EXPECT_EQ(line.add(pairs).outcome, Outcome::applied);
    EXPECT_EQ(line.read().snapshot.connections, pairs);
    EXPECT_NE(line.heard().find("\r\n>"), std::string::npos);
  }
}

TEST(Tl1Variants, ALoginThatCountsLaterIsAwaited) {
  FrontEndOptions options;
  options.firmware_variant = "late-login";
  options.credentials = {"admin", "pw"};
  EmulatedBox box(Dialect::calient_tl1, {}, options);
  Carrier line(box, options.credentials);
  EXPECT_EQ(line.connect().outcome, Outcome::applied);
  EXPECT_GE(line.now().time_since_epoch(), milliseconds(500));
}

TEST(Tl1Variants, IdleLogOutIsOvercome) {
  FrontEndOptions options;
  options.credentials = {"root", "root"};
  EmulatedBox box(Dialect::polatis_tl1, {}, options);
  Carrier line(box, options.credentials);
  ASSERT_EQ(line.connect().outcome, Outcome::applied);
  Frame frame;
  frame.body = "ED-EQPT::TIMEOUT:999:::ADMIN=60;";
  box.send(1, frame, line.now());
  line.pass(seconds(100));
  EXPECT_EQ(line.add({{0, 0}}).outcome, Outcome::applied);
  EXPECT_EQ(box.model().connections(line.now()), (Pairs{{0, 0}}));
}

}  // namespace
}  // namespace photonrail::device
