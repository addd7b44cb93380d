// SCPI: lists, transcripts in the format of public drivers (sources in scpi.h), and the behaviour of the emulated box.
#include "device/scpi.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/conformance.h"
#include "device/scpi_driver.h"
#include "device/scpi_front_end.h"

namespace photonrail::device {
namespace {

using Pairs = std::vector<CrossConnect>;
using scpi::Patch;
using scpi::Port;

TEST(ScpiList, ReadsBothFormsOfACrossConnectList) {
  const std::vector<Patch> want{{1, 19}, {2, 18}, {3, 22}};
  EXPECT_EQ(scpi::parse_patches("(@1,2,3),(@19,18,22)", 16), want);
  EXPECT_EQ(scpi::parse_patches("(@1),(@19);(@2),(@18);(@3),(@22)", 16), want);
  EXPECT_EQ(scpi::parse_patches(" (@1, 2 ,3) , (@19,18,22) ", 16), want);
  for (const char* empty : {"(@),(@)", "<none>", "<NONE>"}) {
    EXPECT_EQ(scpi::parse_patches(empty, 16), std::vector<Patch>{}) << empty;
  }
}

TEST(ScpiList, RefusesWhatIsNone) {
  for (const char* text :
       {"", "(@1,2),(@3)", "(@1,2)", "(@1),(@2),(@3)", "(@0),(@1)", "(@1),(@70000)", "(@a),(@b)", "1,2", "(@1),(@-2)",
        "(@1),(@2);", "(@1;2),(@3;4)", "(@1:),(@2)", "(@1),(@", "(@4:1),(@1:4)"}) {
    EXPECT_FALSE(scpi::parse_patches(text, 16)) << text;
  }
  EXPECT_FALSE(scpi::parse_list("(@1:1000000)", 16)) << "a range longer than the limit";
  EXPECT_FALSE(scpi::parse_list("(@1:9,1:9)", 16));
  EXPECT_EQ(scpi::parse_list("(@2:4,9)", 16), (std::vector<Port>{2, 3, 4, 9}));
}

RC_GTEST_PROP(ScpiList, ReadsWhatItWrites, (const std::vector<std::pair<std::uint16_t, std::uint16_t>>& raw)) {
  std::vector<Patch> patches;
  for (const auto& [a, b] : raw) {
    if (a > 0 && b > 0) patches.emplace_back(a, b);
  }
  RC_ASSERT(scpi::parse_patches(scpi::patches_text(patches), 65536) == patches);
  RC_ASSERT(scpi::parse_patches(scpi::patch_groups_text(patches), 65536) == patches);
}

TEST(ScpiError, IsACodeAndAText) {
  EXPECT_EQ(scpi::parse_error("0,\"No error\"")->code, 0);
  EXPECT_EQ(scpi::parse_error("-222,\"Data out of range; 1,99\"")->text, "Data out of range; 1,99");
  for (const char* text : {"", "1", "-222", "-222,Data", "x,\"y\"", "--1,\"y\"", "1,2"}) {
    EXPECT_FALSE(scpi::parse_error(text)) << text;
  }
}

TEST(ModelSize, IsReadFromTheNameOfTheModel) {
  EXPECT_EQ(size_in_model("I-OST-24x20-LU1-DMHNS")->inputs, 24);
  EXPECT_EQ(size_in_model("I-OST-24x20-LU1-DMHNS")->outputs, 20);
  EXPECT_TRUE(size_in_model("OST-32xCC-LU1")->symmetric);
  for (const char* text : {"", "OST", "OST-24-LU1", "OST-0x4", "OST-4x", "OST-99999x4", "OST-x4"}) {
    EXPECT_FALSE(size_in_model(text)) << text;
  }
}

// ---- The driver against replies written by hand.

// Answers each line in turn; `%` at the start stands for the ones that its *OPC? questions ask for.
class Script {
 public:
  explicit Script(Driver& driver) : driver_(driver) {}

  void reply(std::string text) {
    const auto frames = driver_.take_frames();
    ASSERT_EQ(frames.size(), 1U);
    last = frames[0].body;
    if (text.rfind('%', 0) == 0) text = ones() + text.substr(1);
    give(text + "\r\n");
  }
  void give(const std::string& bytes) {
    Frame frame;
    frame.body = bytes;
    driver_.receive(frame);
  }
  std::string ones() const {
    std::string text;
    for (auto at = last.find("*opc?"); at != std::string::npos; at = last.find("*opc?", at + 1)) text += "1;";
    return text;
  }
  Answer answer() {
    auto answer = driver_.take_answer();
    EXPECT_TRUE(answer);
    EXPECT_FALSE(driver_.take_answer());
    return answer.value_or(Answer{});
  }
  std::string last;

 private:
  Driver& driver_;
};

struct ScpiDriverTest : testing::Test {
  void identify(const std::string& model = "I-OST-24x24-LU1-DMHNS", const std::string& size = "24,24;0,\"No error\"",
                const std::string& power = "-241,\"Hardware missing\"") {
    driver.connected();
    box.reply("%Polatis," + model + ",002414,6.5.2.18");
    box.reply("%" + size);
    box.reply("%" + power);
    box.reply("%(E);0,\"No error\"");
    identified = box.answer();
    ASSERT_EQ(identified.outcome, Outcome::applied);
  }
  Answer read(const std::string& payload) {
    driver.begin({Command::Kind::read, {}, {}, true});
    box.reply("%" + payload + ";0,\"No error\"");
    return box.answer();
  }
  ScpiDriver driver;
  Script box{driver};
  Answer identified;
};

TEST_F(ScpiDriverTest, LearnsWhoTheBoxIs) {
  identify();
  EXPECT_EQ(identified.identity.maker, "Polatis");
  EXPECT_EQ(identified.identity.model, "I-OST-24x24-LU1-DMHNS");
  EXPECT_EQ(identified.identity.serial, "002414");
  EXPECT_EQ(identified.identity.firmware, "6.5.2.18");
  EXPECT_EQ(identified.identity.outputs, 24);
  EXPECT_FALSE(driver.capabilities().power);
  EXPECT_TRUE(driver.capabilities().port_control);
}

TEST_F(ScpiDriverTest, TakesTheSizeFromTheModelWhereTheBoxDoesNotSay) {
  identify("I-OST-16x8-LU1", "-113,\"Undefined header\"", "(-60.00);0,\"No error\"");
  EXPECT_EQ(identified.identity.inputs, 16);
  EXPECT_EQ(identified.identity.outputs, 8);
  EXPECT_TRUE(driver.capabilities().power);
}

TEST_F(ScpiDriverTest, ReadsEveryFormOfTheMatrix) {
  identify();
  EXPECT_EQ(read("(@1,2,3),(@27,26,30)").snapshot.connections, (Pairs{{0, 2}, {1, 1}, {2, 5}}));
  EXPECT_EQ(read("(@2),(@25);(@1),(@26)").snapshot.connections, (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(read("<none>").outcome, Outcome::applied);
  EXPECT_EQ(read("(@1),(@99)").outcome, Outcome::unknown) << "a port that it has not";
  EXPECT_EQ(read("(@1,2),(@25)").outcome, Outcome::unknown);
}

TEST_F(ScpiDriverTest, AsksForCompletionAndErrorsInTheLineOfTheWrite) {
  identify();
  driver.begin({Command::Kind::add, {{0, 0}, {1, 5}}, {}, true});
  box.reply("%0,\"No error\"");
  EXPECT_EQ(box.last.substr(0, 46), "*cls;:oxc:swit:conn:add (@1,2),(@25,30);*opc?;");
  EXPECT_EQ(box.last.substr(box.last.size() - 11), ":syst:err?\n");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  driver.begin({Command::Kind::remove, {{1, 5}}, {}, true});
  box.reply("%0,\"No error\"");
  EXPECT_EQ(box.last.substr(0, 40), "*cls;:oxc:swit:conn:sub (@2),(@30);*opc?");
}

TEST_F(ScpiDriverTest, ReadsTheErrorQueueToItsEnd) {
  identify();
  driver.begin({Command::Kind::add, {{0, 0}}, {}, true});
  box.reply("%-221,\"Settings conflict\"");
  box.reply("%-222,\"Data out of range\"");
  box.reply("%0,\"No error\"");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::rejected);
  EXPECT_EQ(answer.device_text, "-221,\"Settings conflict\"\n-222,\"Data out of range\"");
}

TEST_F(ScpiDriverTest, TakesADeviceErrorForMoreThanARefusal) {
  identify();
  for (const auto& [code, pairs, outcome] : std::vector<std::tuple<int, Pairs, Outcome>>{
           {-310, {{0, 0}}, Outcome::failed},
           {-113, {{0, 0}}, Outcome::rejected},
           {-221, {{0, 0}, {1, 1}}, Outcome::failed},  // what was done before the error is not known
           {77, {{0, 0}}, Outcome::failed}}) {
    driver.begin({Command::Kind::add, pairs, {}, true});
    box.reply("%" + std::to_string(code) + ",\"x\"");
    box.reply("%0,\"No error\"");
    EXPECT_EQ(box.answer().outcome, outcome) << code;
  }
}

TEST_F(ScpiDriverTest, TellsTheLinesOfALargeWriteApart) {
  identify("OST-200x200-LU1", "200,200;0,\"No error\"");
  Pairs pairs;
  for (Position i = 0; i < 130; ++i) pairs.push_back({i, i});
  driver.begin({Command::Kind::add, pairs, {}, true});
  box.reply("%0,\"No error\"");
  box.reply("%-310,\"System error\"");
  box.reply("%0,\"No error\"");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::failed);
  ASSERT_EQ(answer.pairs.size(), 130U);
  EXPECT_EQ(answer.pairs[63], Outcome::applied);
  EXPECT_EQ(answer.pairs[64], Outcome::failed);
  EXPECT_EQ(answer.pairs[129], Outcome::rejected) << "never sent";
}

TEST_F(ScpiDriverTest, PassesOverRepliesToOtherQuestions) {
  identify();
  driver.begin({Command::Kind::read, {}, {}, true});
  box.reply("0,\"No error\"");
  box.give("1;1;1;1;1;(@1),(@25);0,\"No error\"\r\n");
  box.give("hello\r\n\r\n;;;\r\n1;\r\n");
  EXPECT_FALSE(driver.take_answer());
  box.give(box.ones() + "(@3),(@25);0,\"No error\"\r\n");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{2, 0}}));
  box.give(box.ones() + "(@4),(@25);0,\"No error\"\r\n");
  EXPECT_FALSE(driver.take_answer()) << "nobody asked";
}

// A reply that comes twice, the second time when the next question waits, is not that one's.
TEST_F(ScpiDriverTest, PassesOverARepeatedReply) {
  identify();
  read("(@1),(@25)");
  for (Position i = 0; i < 8; ++i) {
    const std::string before = box.ones();
    driver.begin({Command::Kind::read, {}, {}, true});
    const auto frames = driver.take_frames();
    ASSERT_EQ(frames.size(), 1U);
    box.last = frames[0].body;
    box.give(before + "(@1),(@25);0,\"No error\"\r\n");
    EXPECT_FALSE(driver.take_answer());
    box.give(box.ones() + "(@2),(@26);0,\"No error\"\r\n");
    EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{1, 1}}));
  }
}

TEST_F(ScpiDriverTest, BelievesNoReadingWithAnError) {
  identify();
  driver.begin({Command::Kind::read, {}, {}, true});
  box.reply("%(@1),(@25);-310,\"System error\"");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_TRUE(answer.snapshot.connections.empty());
}

TEST_F(ScpiDriverTest, GivesUpOnAStreamOfStrangers) {
  identify();
  driver.begin({Command::Kind::read, {}, {}, true});
  for (int i = 0; i < 100; ++i) box.give("what?\r\n");
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_TRUE(driver.wants_new_connection());
  driver.begin({Command::Kind::read, {}, {}, true});
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
}

TEST_F(ScpiDriverTest, GivesUpOnALineWithoutEnd) {
  identify();
  driver.begin({Command::Kind::read, {}, {}, true});
  for (int i = 0; i < 40 && !driver.wants_new_connection(); ++i) box.give(std::string(65536, '1'));
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_TRUE(driver.wants_new_connection());
}

TEST_F(ScpiDriverTest, KeepsAtMostFourKibibytesOfText) {
  identify();
  driver.begin({Command::Kind::add, {{0, 0}}, {}, true});
  box.reply("%-310,\"" + std::string(10000, 'x') + "\"");
  box.reply("%0,\"No error\"");
  EXPECT_EQ(box.answer().device_text.size(), 4096U);
}

TEST_F(ScpiDriverTest, SplitsPowerQueriesAt256Ports) {
  identify("OST-300x300-LU1", "300,300;0,\"No error\"", "(-60.00);0,\"No error\"");
  driver.begin({Command::Kind::readings, {}, {}, true});
  const auto list = [](std::size_t n, const char* item) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += std::string(i == 0 ? "(" : ",") + item;
    return "%" + text + ");0,\"No error\"";
  };
  box.reply(list(256, "E"));
  box.reply(list(256, "-3.21"));
  box.reply(list(44, "F"));
  box.reply(list(44, "-60.00"));
  const Answer answer = box.answer();
  ASSERT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.snapshot.outputs[255].power_dbm, -3.21);
  EXPECT_EQ(answer.snapshot.outputs[256].status, PortStatus::failed);
  EXPECT_EQ(answer.snapshot.outputs[299].power_dbm, -60);
}

TEST_F(ScpiDriverTest, RefusesReadingsOfTheWrongLength) {
  identify();
  driver.begin({Command::Kind::readings, {}, {0, 1}, true});
  box.reply("%(E,E,E);0,\"No error\"");
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::unknown);
  EXPECT_TRUE(answer.snapshot.outputs.empty());
}

// Any port to any port: one patch is a cross-connect each way.
TEST_F(ScpiDriverTest, KnowsSymmetricBoxes) {
  identify("OST-8xCC-LU1", "8,0;0,\"No error\"");
  EXPECT_EQ(identified.identity.inputs, 8);
  EXPECT_EQ(identified.identity.outputs, 8);
  driver.begin({Command::Kind::add, {{1, 5}, {5, 1}, {7, 0}, {0, 7}}, {}, true});
  box.reply("%0,\"No error\"");
  EXPECT_EQ(box.last.substr(0, 38), "*cls;:oxc:swit:conn:add (@2,1),(@6,8);");
  box.answer();
  EXPECT_EQ(read("(@1),(@8)").snapshot.connections, (Pairs{{0, 7}, {7, 0}}));
  driver.begin({Command::Kind::add, {{3, 3}}, {}, true});
  EXPECT_EQ(box.answer().outcome, Outcome::rejected) << "a port to itself";
}

// ---- The emulated box.

struct ScpiBoxTest : testing::Test {
  void begin(SwitchModelSpec spec = {}, FrontEndOptions options = {}) {
    box = std::make_unique<EmulatedBox>(Dialect::polatis_scpi, std::move(spec), options);
    connection = box->open(now);
  }
  // What it says to a line, without the line's end.
  std::string ask(const std::string& line) {
    Frame frame;
    frame.body = line + "\n";
    box->send(connection, frame, now);
    now += std::chrono::seconds(1);
    std::string text;
    while (const auto reply = box->take(connection, now)) text += reply->frame.body;
    if (text.size() >= 2 && text.substr(text.size() - 2) == "\r\n") text.resize(text.size() - 2);
    return text;
  }
  std::unique_ptr<EmulatedBox> box;
  ConnectionId connection = 0;
  Instant now{};
};

TEST_F(ScpiBoxTest, SpeaksAsTheDriversOfTheFieldExpect) {
  SwitchModelSpec spec;
  spec.maker = "Polatis";
  spec.model = "I-OST-16x16-LU1-DMHNS";
  begin(spec);
  EXPECT_EQ(ask("*idn?"), "Polatis,I-OST-16x16-LU1-DMHNS,0001,1.0");
  EXPECT_EQ(ask(":oxc:swit:size?"), "16,16");
  EXPECT_EQ(ask(":oxc:swit:conn:stat?"), "(@),(@)");
  EXPECT_EQ(ask(":oxc:swit:conn:add (@1,2,3),(@19,18,22)"), "") << "writes are not answered";
  EXPECT_EQ(ask(":oxc:swit:conn:stat?"), "(@1,2,3),(@19,18,22)");
  EXPECT_EQ(ask(":oxc:swit:conn:port? 2"), "\"18\"");
  EXPECT_EQ(ask(":oxc:swit:conn:port? 18"), "\"2\"");
  EXPECT_EQ(ask(":oxc:swit:conn:port? 9"), "\"\"");
  EXPECT_EQ(ask(":oxc:swit:conn:sub (@1),(@19)"), "");
  EXPECT_EQ(ask(":oxc:swit:conn:sub (@2),(@)"), "");
  EXPECT_EQ(ask(":oxc:swit:conn:stat?"), "(@3),(@22)");
  EXPECT_EQ(ask(":oxc:swit:conn:only (@4,5),(@17,18)"), "");
  EXPECT_EQ(ask(":oxc:swit:conn:stat?"), "(@4,5),(@17,18)");
  EXPECT_EQ(ask(":oxc:swit:disc:all"), "");
  EXPECT_EQ(ask(":oxc:swit:conn:stat?"), "(@),(@)");
  EXPECT_EQ(ask(":oxc:boot:mode?"), "DARK");
  EXPECT_EQ(ask(":syst:err?"), "0,\"No error\"");
}

TEST_F(ScpiBoxTest, AnswersACompoundLineInOne) {
  begin();
  EXPECT_EQ(ask("*CLS;:OXC:SWIT:CONN:ADD (@1),(@25);*OPC?"), "1");
  EXPECT_EQ(ask(":SYST:ERR?;:OXC:SWIT:CONN:PORT? 1"), "0,\"No error\";\"25\"");
}

TEST_F(ScpiBoxTest, KnowsLongFormsAnyCaseAndRelativeHeaders) {
  begin();
  EXPECT_EQ(ask("OXC:SWITch:CONNect:ADD (@1),(@17);SUB (@1),(@17);ADD (@2),(@18);STATe?"), "(@2),(@18)");
  EXPECT_EQ(ask("system:error:next?;NEXT?;:SYST:ERR:ALL?"), "0,\"No error\";0,\"No error\";0,\"No error\"");
  EXPECT_EQ(ask(":oxc:switc:size?"), "") << "neither the short form nor the long one";
  EXPECT_EQ(ask("syst:err?"), "-113,\"Undefined header\"");
}

TEST_F(ScpiBoxTest, QueuesErrors) {
  begin();
  EXPECT_EQ(ask(":oxc:swit:conn:add (@1),(@99);:syst:err?").substr(0, 5), "-222,");
  EXPECT_EQ(ask(":oxc:swit:conn:add (@17),(@1);:syst:err?").substr(0, 5), "-222,") << "the ingress comes first";
  EXPECT_EQ(ask(":oxc:swit:conn:add (@1,2),(@17);:syst:err?").substr(0, 5), "-102,");
  EXPECT_EQ(ask(":oxc:swit:conn:add;:syst:err?").substr(0, 5), "-109,");
  EXPECT_EQ(ask(":oxc:swit:conn:add (@1),(@17);add (@2),(@17);:syst:err?").substr(0, 5), "-221,");
  EXPECT_EQ(ask("*esr?"), "48") << "command and execution errors, IEEE 488.2";
  EXPECT_EQ(ask("*esr?;*stb?"), "0;0");
  for (int i = 0; i < 40; ++i) ask("nonsense");
  EXPECT_EQ(ask("*stb?"), "4");
  std::string last, code;
  for (int i = 0; i < 40 && (code = ask(":syst:err?")) != "0,\"No error\""; ++i) last = code;
  EXPECT_EQ(last, "-350,\"Queue overflow\"");
  ask("nonsense");
  EXPECT_EQ(ask("*cls;:syst:err?"), "0,\"No error\"");
}

TEST_F(ScpiBoxTest, HasShuttersAtItsOutputsOnly) {
  begin();
  EXPECT_EQ(ask(":oxc:swit:port:dis (@18,20);:oxc:swit:port:stat? (@17,18,19,20)"), "(E,D,E,D)");
  box->model().fail_port(2, now);
  EXPECT_EQ(ask(":oxc:swit:port:enab (@18);:oxc:swit:port:stat? (@1,18,19,20)"), "(E,E,F,D)");
  EXPECT_EQ(ask(":oxc:swit:port:dis (@1);:syst:err?").substr(0, 5), "-221,");
}

TEST_F(ScpiBoxTest, MeasuresPowerOfUpTo256Outputs) {
  SwitchModelSpec spec;
  spec.inputs = spec.outputs = 300;
  spec.model = "OST-300x300-LU1";
  begin(spec);
  EXPECT_EQ(ask(":pmon:pow? (@301,302)"), "(-60.00,-60.00)");
  EXPECT_NE(ask(":pmon:pow? (@301:556)"), "");
  EXPECT_EQ(ask(":pmon:pow? (@301:557);:syst:err?").substr(0, 5), "-223,");
  EXPECT_EQ(ask(":pmon:pow? (@1);:syst:err?").substr(0, 5), "-241,");
  spec.has_power = false;
  begin(spec);
  EXPECT_EQ(ask(":pmon:pow? (@301);:syst:err?").substr(0, 5), "-241,");
}

TEST_F(ScpiBoxTest, IsWedgedByHaste) {
  SwitchModelSpec spec;
  spec.min_gap = std::chrono::milliseconds(20);
  begin(spec);
  Frame frame;
  frame.body = "*opc?\n";
  box->send(connection, frame, now);
  box->send(connection, frame, now + std::chrono::milliseconds(5));
  EXPECT_TRUE(box->take(connection, now + std::chrono::milliseconds(5)));
  EXPECT_GE(box->next(connection), now + std::chrono::milliseconds(900));
}

TEST(ScpiVariants, NoneMarkerAndGroupsAreReadToo) {
  FrontEndOptions options;
  options.firmware_variant = "none-marker";
  EmulatedBox box(Dialect::polatis_scpi, {}, options);
  Carrier line(box);
  ASSERT_EQ(line.connect().outcome, Outcome::applied);
  EXPECT_TRUE(line.read().snapshot.connections.empty());
  EXPECT_NE(line.heard().find("<none>"), std::string::npos);
  line.add({{0, 1}, {1, 0}});
  EXPECT_EQ(line.read().snapshot.connections, (Pairs{{0, 1}, {1, 0}}));
  EXPECT_NE(line.heard().find("(@1),(@18);(@2),(@17)"), std::string::npos);
}

// Such a box answers nothing to a probe of what it has not: after some tries that is taken for missing.
TEST(ScpiVariants, ABoxThatDropsLinesWithErrorsIsUnderstood) {
  FrontEndOptions options;
  options.firmware_variant = "stops-at-error";
  SwitchModelSpec spec;
  spec.has_power = false;
  EmulatedBox box(Dialect::polatis_scpi, spec, options);
  Carrier line(box);
  int tries = 1;
  while (line.connect().outcome != Outcome::applied && tries < 20) ++tries;
  EXPECT_GT(tries, 3) << "a lost reply or two do not make a detector go away";
  EXPECT_LT(tries, 20);
  EXPECT_FALSE(line.driver().capabilities().power);
  EXPECT_TRUE(line.driver().capabilities().port_control);
  EXPECT_EQ(line.add({{0, 1}}).outcome, Outcome::applied);
  EXPECT_EQ(line.add({{2, 1}}).outcome, Outcome::unknown) << "its refusal is silent";
  EXPECT_EQ(line.read().snapshot.connections, (Pairs{{0, 1}}));
}

TEST(ScpiVariants, SymmetricBoxCarriesBothDirections) {
  SwitchModelSpec spec;
  spec.model = "OST-16xCC-LU1";
  for (const Dialect dialect : {Dialect::polatis_scpi, Dialect::polatis_tl1}) {
    EmulatedBox box(dialect, spec);
    Carrier line(box);
    ASSERT_EQ(line.connect().outcome, Outcome::applied);
    EXPECT_EQ(line.add({{1, 5}, {5, 1}}).outcome, Outcome::applied);
    EXPECT_EQ(box.model().connections(line.now()), (Pairs{{1, 5}, {5, 1}}));
    EXPECT_EQ(line.read().snapshot.connections, (Pairs{{1, 5}, {5, 1}}));
    EXPECT_EQ(line.remove({{1, 5}, {5, 1}}).outcome, Outcome::applied);
    EXPECT_TRUE(box.model().connections(line.now()).empty());
  }
}

}  // namespace
}  // namespace photonrail::device
