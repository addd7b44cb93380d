// NETCONF dialect: texts written by hand against RFC 6241 and the module optical-switch.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/netconf_driver.h"
#include "device/netconf_front_end.h"
#include "device/test_dialogue.h"
#include "device/xml_text.h"

namespace photonrail::device {
namespace {

using std::chrono::milliseconds;
using Pairs = std::vector<CrossConnect>;

constexpr const char* kProduct =
    "<data><product-information xmlns='http://www.polatis.com/yang/optical-switch'>"
    "<manufacturer>Polatis</manufacturer><serial-number>002414</serial-number>"
    "<model-name>I-OST-24x24-LU1-DMHNS</model-name><software-version>6.5.2.18</software-version>"
    "</product-information></data>";
constexpr const char* kPower =
    "<data><opm-power xmlns='http://www.polatis.com/yang/optical-switch'><port><port-id>25</port-id>"
    "<power>-3.21</power></port></opm-power></data>";

std::string hello(const std::string& more, const std::string& revision = "2018-03-22") {
  return "<?xml version='1.0' encoding='UTF-8'?><nc:hello xmlns:nc='urn:ietf:params:xml:ns:netconf:base:1.0'>"
         "<nc:capabilities><nc:capability>urn:ietf:params:netconf:base:1.1</nc:capability>" +
         more +
         "<nc:capability>http://www.polatis.com/yang/optical-switch?module=optical-switch&amp;revision=" + revision +
         "</nc:capability></nc:capabilities><nc:session-id>4</nc:session-id></nc:hello>";
}

std::string capability(const std::string& name) {
  return "<nc:capability>urn:ietf:params:netconf:capability:" + name + ":1.0</nc:capability>";
}

std::string message_id(const Frame& frame) {
  const auto document = XmlDocument::parse(frame.body);
  return document ? std::string(document->root().attribute("message-id")) : std::string();
}

struct Netconf : Dialogue {
  explicit Netconf(const std::string& says = hello(capability("writable-running") + capability("rollback-on-error")),
                   const std::string& power = kPower)
      : Dialogue(Dialect::polatis_netconf) {
    driver->connected();
    EXPECT_NE(sent().body.find("<hello"), std::string::npos);
    reply(says);
    answer_to(sent(), kProduct);
    answer_to(sent(), power);
    identified = answer();
  }
  void answer_to(const Frame& request, const std::string& inner) {
    reply("<rpc-reply xmlns='urn:ietf:params:xml:ns:netconf:base:1.0' message-id='" + message_id(request) + "'>" +
          inner + "</rpc-reply>");
  }
  void refuse(const Frame& request, const std::string& tag, const std::string& severity = "error") {
    answer_to(request, "<rpc-error><error-type>application</error-type><error-tag>" + tag +
                           "</error-tag><error-severity>" + severity +
                           "</error-severity><error-message>no &amp; no</error-message></rpc-error>");
  }
  Answer identified;
};

TEST(NetconfDriver, LearnsWhoTheSwitchIsAndWhatItCan) {
  Netconf box;
  EXPECT_EQ(box.identified.outcome, Outcome::applied);
  EXPECT_EQ(box.identified.identity.maker, "Polatis");
  EXPECT_EQ(box.identified.identity.serial, "002414");
  EXPECT_EQ(box.identified.identity.firmware, "6.5.2.18");
  EXPECT_EQ(box.identified.identity.inputs, 24);
  EXPECT_EQ(box.identified.identity.outputs, 24);
  EXPECT_TRUE(box.driver->capabilities().power);
  EXPECT_TRUE(box.driver->capabilities().atomic_batch);
}

TEST(NetconfDriver, BelievesInNoDetectorsWhereNoneAnswer) {
  EXPECT_FALSE(Netconf(hello(""), "<data/>").driver->capabilities().power);
  const std::string refused = "<rpc-error><error-tag>operation-not-supported</error-tag></rpc-error>";
  Netconf box(hello(""), refused);
  EXPECT_FALSE(box.driver->capabilities().power);
  EXPECT_EQ(box.identified.outcome, Outcome::applied);
  EXPECT_FALSE(box.driver->capabilities().atomic_batch) << "no rollback-on-error: an error may leave a part behind";
}

TEST(NetconfDriver, WritesWhatTheModuleAsksFor) {
  Netconf box;
  box.begin(Command::Kind::add, {{0, 0}, {1, 5}});
  const Frame add = box.sent();
  EXPECT_EQ(add.body,
            "<rpc message-id=\"3\" xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><edit-config><target><running/>"
            "</target><error-option>rollback-on-error</error-option><config><cross-connects "
            "xmlns=\"http://www.polatis.com/yang/optical-switch\" "
            "xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><pair nc:operation=\"merge\"><ingress>1</ingress>"
            "<egress>25</egress></pair><pair nc:operation=\"merge\"><ingress>2</ingress><egress>30</egress></pair>"
            "</cross-connects></config></edit-config></rpc>");
  box.answer_to(add, "<ok/>");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);

  box.begin(Command::Kind::remove, {{1, 5}, {0, 9}});
  box.answer_to(box.sent(),
                "<data><cross-connects xmlns='http://www.polatis.com/yang/optical-switch'>"
                "<pair><ingress>1</ingress><egress>25</egress></pair>"
                "<pair><ingress>2</ingress><egress>30</egress></pair></cross-connects></data>");
  const Frame remove = box.sent();
  EXPECT_EQ(remove.body.find("<ingress>1</ingress>"), std::string::npos) << "its ingress holds another pair";
  EXPECT_NE(remove.body.find("<pair nc:operation=\"remove\"><ingress>2</ingress></pair>"), std::string::npos);
  box.answer_to(remove, "<ok/>");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);

  box.begin(Command::Kind::set_ports, {}, {0, 1}, false);
  EXPECT_NE(box.sent().body.find("<port-disab>25</port-disab><port-disab>26</port-disab>"), std::string::npos);
}

TEST(NetconfDriver, UsesTheNamesOfOldFirmware) {
  Netconf box(hello("", "2017-01-01"));
  box.begin(Command::Kind::add, {{0, 0}});
  const Frame add = box.sent();
  EXPECT_NE(add.body.find("<pairs nc:operation"), std::string::npos);
  EXPECT_EQ(add.body.find("rollback-on-error"), std::string::npos);
  box.answer_to(add, "<ok/>");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  box.begin(Command::Kind::read);
  box.answer_to(box.sent(),
                "<data><cross-connects><pairs><ingress>1</ingress><egress>25</egress></pairs>"
                "</cross-connects></data>");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 0}}));
}

TEST(NetconfDriver, ReadsConnectionsPortsAndPower) {
  Netconf box;
  box.begin(Command::Kind::read);
  box.answer_to(box.sent(),
                "<x:data xmlns:x='urn:ietf:params:xml:ns:netconf:base:1.0'><cross-connects>"
                "<pair><egress> 48 </egress><ingress>24</ingress></pair>"
                "<pair><ingress>1</ingress><egress>25</egress></pair></cross-connects></x:data>");
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 0}, {23, 23}}));
  box.begin(Command::Kind::read);
  box.answer_to(box.sent(), "<data/>");
  const Answer empty = box.answer();
  EXPECT_EQ(empty.outcome, Outcome::applied);
  EXPECT_TRUE(empty.snapshot.connections.empty());

  box.begin(Command::Kind::readings);
  box.answer_to(box.sent(),
                "<data><port-config><port><port-id>1</port-id><status>FAILED</status></port>"
                "<port><port-id>25</port-id><status>ENABLED</status></port>"
                "<port><port-id>26</port-id><status>DISABLED</status></port>"
                "<port><port-id>27</port-id><status>FAILED</status></port></port-config></data>");
  box.answer_to(box.sent(), kPower);
  const Answer readings = box.answer();
  ASSERT_EQ(readings.snapshot.outputs.size(), 24U);
  EXPECT_EQ(readings.snapshot.outputs[0].status, PortStatus::unknown)
      << "the module does not say whether light is there";
  EXPECT_EQ(readings.snapshot.outputs[0].power_dbm, -3.21);
  EXPECT_EQ(readings.snapshot.outputs[1].status, PortStatus::disabled);
  EXPECT_EQ(readings.snapshot.outputs[2].status, PortStatus::failed);
}

TEST(NetconfDriver, TellsRefusalFromFailureAndWarning) {
  Netconf box;
  const auto outcome = [&](const std::string& tag) {
    box.begin(Command::Kind::add, {{0, 0}, {1, 1}});
    box.refuse(box.sent(), tag);
    return box.answer().outcome;
  };
  EXPECT_EQ(outcome("in-use"), Outcome::rejected);
  EXPECT_EQ(outcome("lock-denied"), Outcome::rejected);
  EXPECT_EQ(outcome("operation-failed"), Outcome::failed);
  EXPECT_EQ(outcome("no such tag"), Outcome::failed);
  box.begin(Command::Kind::add, {{0, 0}});
  const Frame warned = box.sent();
  box.answer_to(warned,
                "<rpc-error><error-tag>in-use</error-tag><error-severity>warning</error-severity></rpc-error><ok/>");
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  box.begin(Command::Kind::add, {{0, 0}});
  box.answer_to(box.sent(), "<data/>");
  EXPECT_EQ(box.answer().outcome, Outcome::unknown) << "an edit is answered with ok";
}

TEST(NetconfDriver, TakesARefusedBatchForFailedWhereTheBoxDoesNotRollBack) {
  Netconf box(hello(capability("writable-running")));
  box.begin(Command::Kind::add, {{0, 0}, {1, 1}});
  box.refuse(box.sent(), "in-use");
  EXPECT_EQ(box.answer().outcome, Outcome::failed);
  box.begin(Command::Kind::add, {{0, 0}});
  box.refuse(box.sent(), "in-use");
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
}

TEST(NetconfDriver, NeverTakesALateReplyForAnother) {
  Netconf box;
  box.begin(Command::Kind::add, {{0, 0}});
  const Frame first = box.sent();
  box.driver->expire();
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_FALSE(box.driver->wants_new_connection());
  box.begin(Command::Kind::add, {{1, 1}});
  const Frame second = box.sent();
  box.answer_to(first, "<ok/>");
  EXPECT_TRUE(box.waits()) << "the reply was to the expired command";
  box.refuse(second, "in-use");
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
}

TEST(NetconfDriver, WritesByTheCandidateWhereThereIsNothingElse) {
  Netconf box(hello(capability("candidate") + capability("validate")));
  EXPECT_TRUE(box.driver->capabilities().atomic_batch);
  box.begin(Command::Kind::add, {{0, 0}, {1, 1}});
  for (const char* step :
       {"<lock><target><candidate/>", "<edit-config><target><candidate/>", "<commit/>", "<unlock>"}) {
    const Frame request = box.sent();
    EXPECT_NE(request.body.find(step), std::string::npos) << request.body;
    EXPECT_TRUE(box.waits());
    box.answer_to(request, "<ok/>");
  }
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(NetconfDriver, LeavesNothingInACandidateThatWasRefused) {
  Netconf box(hello(capability("candidate")));
  box.begin(Command::Kind::add, {{0, 0}, {1, 1}});
  box.answer_to(box.sent(), "<ok/>");
  box.answer_to(box.sent(), "<ok/>");
  box.refuse(box.sent(), "in-use");  // the commit
  for (const char* step : {"<discard-changes/>", "<unlock>"}) {
    const Frame request = box.sent();
    EXPECT_NE(request.body.find(step), std::string::npos) << request.body;
    EXPECT_TRUE(box.waits());
    box.answer_to(request, "<ok/>");
  }
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::rejected);
  EXPECT_EQ(answer.device_text, "in-use: no & no");

  box.begin(Command::Kind::add, {{0, 0}});
  box.refuse(box.sent(), "lock-denied");  // somebody else's candidate is left alone
  EXPECT_TRUE(box.driver->take_frames().empty());
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
}

TEST(NetconfDriver, GivesUpTheSessionThatHoldsALock) {
  Netconf box(hello(capability("candidate")));
  box.begin(Command::Kind::add, {{0, 0}});
  box.driver->expire();
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_TRUE(box.driver->wants_new_connection());
}

TEST(NetconfDriver, RefusesWhatMakesNoSense) {
  Netconf box;
  const auto outcome = [&](const std::string& inner) {
    box.begin(Command::Kind::read);
    box.answer_to(box.sent(), inner);
    return box.answer().outcome;
  };
  EXPECT_EQ(
      outcome("<data><cross-connects><pair><ingress>0</ingress><egress>25</egress></pair></cross-connects></data>"),
      Outcome::failed);
  EXPECT_EQ(
      outcome("<data><cross-connects><pair><ingress>1</ingress><egress>24</egress></pair></cross-connects></data>"),
      Outcome::failed);
  EXPECT_EQ(outcome("<data><cross-connects><pair><ingress>1</ingress></pair></cross-connects></data>"),
            Outcome::failed);
  EXPECT_EQ(outcome("<data><cross-connects><pair><ingress>99999999999</ingress><egress>25</egress></pair>"
                    "</cross-connects></data>"),
            Outcome::failed);
  EXPECT_EQ(outcome(""), Outcome::failed);
  box.begin(Command::Kind::add, {{24, 0}});
  EXPECT_TRUE(box.driver->take_frames().empty()) << "no such port";
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
}

TEST(NetconfDriver, GivesUpOnAStreamOfStrangers) {
  Netconf box;
  box.begin(Command::Kind::read);
  for (int i = 0; i < 100; ++i) box.reply("<rpc-reply message-id='x'/>");
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_TRUE(box.driver->wants_new_connection());
}

TEST(NetconfDriver, PassesNotificationsOn) {
  Netconf box;
  box.reply(
      "<notification xmlns='urn:ietf:params:xml:ns:netconf:notification:1.0'><eventTime>2026-01-01T00:00:00Z"
      "</eventTime><port-power-alarm/></notification>");
  ASSERT_EQ(box.driver->take_events().size(), 1U);
}

RC_GTEST_PROP(NetconfDriverProperty, SurvivesAnyBytes, (const std::vector<std::string>& bodies)) {
  Netconf box;
  box.begin(Command::Kind::read);
  box.sent();
  for (const std::string& body : bodies) box.reply(body);
  RC_ASSERT(bodies.size() > 64 || !box.driver->take_answer().has_value());
}

// ---- the front end

struct Box {
  explicit Box(FrontEndOptions options = {}, SwitchModelSpec spec = {}) : model(std::move(spec)) {
    front_end = make_front_end(Dialect::polatis_netconf, model, std::move(options));
    front_end->opened(1, now);
    greeting = next();
    say("<hello xmlns='urn:ietf:params:xml:ns:netconf:base:1.0'/>", 1, false);
  }
  std::string next() {
    const auto replies = front_end->take_replies();
    return replies.empty() ? std::string() : replies.back().frame.body;
  }
  std::string say(const std::string& body, ConnectionId from = 1, bool rpc = true) {
    Frame frame;
    frame.body =
        rpc ? "<rpc xmlns='urn:ietf:params:xml:ns:netconf:base:1.0' message-id='a&amp;b'>" + body + "</rpc>" : body;
    front_end->receive(from, frame, now);
    now += milliseconds(100);
    return next();
  }
  std::string edit(const std::string& pairs) {
    return say(
        "<edit-config><target><running/></target><config><cross-connects "
        "xmlns='http://www.polatis.com/yang/optical-switch' xmlns:n='urn:ietf:params:xml:ns:netconf:base:1.0'>" +
        pairs + "</cross-connects></config></edit-config>");
  }
  Instant now{};
  SwitchModel model;
  std::unique_ptr<FrontEnd> front_end;
  std::string greeting;
};

TEST(NetconfFrontEnd, DoesWhatAnEditSays) {
  Box box;
  EXPECT_NE(box.greeting.find("revision=2018-03-22"), std::string::npos);
  EXPECT_EQ(box.edit("<pair n:operation='create'><ingress>1</ingress><egress>18</egress></pair>"
                     "<pair><ingress>2</ingress><egress>17</egress></pair>"),
            "<rpc-reply message-id=\"a&amp;b\" xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><ok/></rpc-reply>");
  EXPECT_EQ(box.model.connections(box.now), (Pairs{{0, 1}, {1, 0}}));
  EXPECT_NE(box.say("<get-config><source><running/></source></get-config>")
                .find("<pair><ingress>1</ingress><egress>18</egress></pair>"),
            std::string::npos);
  EXPECT_NE(box.edit("<pair n:operation='create'><ingress>1</ingress><egress>19</egress></pair>").find("data-exists"),
            std::string::npos);
  EXPECT_NE(box.edit("<pair n:operation='delete'><ingress>9</ingress></pair>").find("data-missing"), std::string::npos);
  EXPECT_NE(box.edit("<pair><ingress>3</ingress><egress>18</egress></pair>").find("in-use"), std::string::npos);
  EXPECT_NE(
      box.edit("<pair n:operation='remove'><ingress>9</ingress></pair><pair n:operation='delete'><ingress>1</ingress>"
               "</pair>")
          .find("<ok/>"),
      std::string::npos);
  EXPECT_EQ(box.model.connections(box.now), (Pairs{{1, 0}}));
}

TEST(NetconfFrontEnd, RefusesWhatItDoesNotUnderstand) {
  Box box;
  for (const char* pair :
       {"<pair><ingress>0</ingress><egress>17</egress></pair>", "<pair><ingress>1</ingress></pair>",
        "<pair><ingress>1</ingress><egress>16</egress></pair>", "<pair><ingress>1</ingress><egress>33</egress></pair>",
        "<pair><ingress>17</ingress><egress>18</egress></pair>", "<pears/>"}) {
    EXPECT_NE(box.edit(pair).find("rpc-error"), std::string::npos) << pair;
  }
  EXPECT_NE(box.say("<kill-session/>").find("operation-not-supported"), std::string::npos);
  EXPECT_NE(box.say("").find("missing-element"), std::string::npos);
  EXPECT_TRUE(box.model.connections(box.now).empty());
  EXPECT_TRUE(box.model.writer_log().empty());
}

TEST(NetconfFrontEnd, AnswersNothingBeforeHelloAndHangsUpOnWhatIsNoXml) {
  Box box;
  box.front_end->opened(2, box.now);
  box.next();
  EXPECT_NE(box.say("<get/>", 2).find("rpc-error"), std::string::npos);
  Frame frame;
  frame.body = "<rpc";
  box.front_end->receive(2, frame, box.now);
  const auto replies = box.front_end->take_replies();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies.front().close);
}

TEST(NetconfFrontEnd, HasTheNamesOfItsFirmware) {
  FrontEndOptions options;
  options.firmware_variant = "pairs";
  Box box(options);
  EXPECT_NE(box.greeting.find("revision=2017-01-01"), std::string::npos);
  EXPECT_NE(box.edit("<pair><ingress>1</ingress><egress>17</egress></pair>").find("unknown-element"),
            std::string::npos);
  EXPECT_NE(box.edit("<pairs><ingress>1</ingress><egress>17</egress></pairs>").find("<ok/>"), std::string::npos);
  EXPECT_EQ(box.model.connections(box.now), (Pairs{{0, 0}}));
}

RC_GTEST_PROP(NetconfFrontEndProperty, SurvivesAnyBytes, (const std::vector<std::string>& bodies)) {
  Box box;
  for (const std::string& body : bodies) box.say(body, 1, false);
  for (const std::string& body : bodies) box.edit(body);
  RC_ASSERT(box.model.connections(box.now).empty());
}

}  // namespace
}  // namespace photonrail::device
