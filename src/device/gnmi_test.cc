// gNMI dialects: messages written by hand against the gNMI specification, the draft of the OCP sub-project and the
// design document of SONiC.
#include <gnmi/gnmi.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/gnmi_driver.h"
#include "device/gnmi_front_end.h"
#include "device/test_dialogue.h"

namespace photonrail::device {
namespace {

using std::chrono::milliseconds;
using Pairs = std::vector<CrossConnect>;
using gnmi_model::elements;

std::string update_response(const std::string& json) {
  gnmi::GetResponse response;
  response.add_notification()->add_update()->mutable_val()->set_json_ietf_val(json);
  return response.SerializeAsString();
}

std::string sync() {
  gnmi::SubscribeResponse response;
  response.set_sync_response(true);
  return response.SerializeAsString();
}

template <class Message>
Message parsed(const std::string& body) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(body));
  return message;
}

// "connections/port-connection[name=x]", with the origin in front where there is one.
std::string text_of(const gnmi::Path& path) {
  std::string text;
  for (const gnmi::PathElem& element : path.elem()) {
    if (!text.empty()) text += '/';
    text += element.name();
    for (const auto& [key, value] : element.key()) text += "[" + key + "=" + value + "]";
  }
  return text;
}

struct Gnmi : Dialogue {
  explicit Gnmi(Dialect dialect, int subscribe_status = 0) : Dialogue(dialect) {
    driver->connected();
    reply_to(sent(), gnmi::CapabilityResponse().SerializeAsString());
    reply_to(sent(), update_response(
                         dialect == Dialect::ocp_gnmi
                             ? R"({"mfg-name":"Maker","part-no":"EMU-16x16","serial-no":"7","firmware-version":"2"})"
                             : R"({"manufacturer":"Maker","model":"EMU-16x16","serial":"7","revision":"2"})"));
    stream = sent();
    reply_to(stream, subscribe_status == 0 ? sync() : "", subscribe_status);
    identified = answer();
  }
  void reply_to(const Frame& request, std::string body, int status = 0) {
    Frame frame{request.verb, request.target, status, std::move(body)};
    driver->receive(frame);
  }
  void read(const std::string& json) {
    begin(Command::Kind::read);
    if (driver->dialect() == Dialect::sonic_gnmi) reply_to(sent(), update_response(json));
    reply_to(sent(), update_response(json));
  }
  Frame stream;
  Answer identified;
};

TEST(GnmiDriver, LearnsWhoTheSwitchIs) {
  for (const Dialect dialect : {Dialect::ocp_gnmi, Dialect::sonic_gnmi}) {
    Gnmi box(dialect);
    EXPECT_EQ(box.identified.outcome, Outcome::applied);
    EXPECT_EQ(box.identified.identity.serial, "7");
    EXPECT_EQ(box.identified.identity.outputs, 16);
    EXPECT_TRUE(box.driver->capabilities().events);
    EXPECT_FALSE(Gnmi(dialect, 12).driver->capabilities().events);
  }
}

TEST(GnmiDriver, WritesOcpEntriesInOneSet) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::add, {{0, 1}, {2, 3}});
  const Frame add = box.sent();
  EXPECT_EQ(add.verb, "Set");
  const auto set = parsed<gnmi::SetRequest>(add.body);
  ASSERT_EQ(set.update_size(), 2);
  EXPECT_EQ(text_of(set.update(0).path()), "connections/port-connection[name=1A-2B]");
  EXPECT_EQ(set.update(0).val().json_ietf_val(),
            R"({"config":{"name":"1A-2B","input-port-name":"1A","output-port-name":"2B"}})");
  box.reply_to(add, gnmi::SetResponse().SerializeAsString());
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(GnmiDriver, DeletesEntriesByTheNameThatTheyHaveAndInvalidOnesToo) {
  Gnmi box(Dialect::ocp_gnmi);
  const std::string table = R"({"ocp:port-connection":[
    {"name":"job7/w1","config":{"input-port-name":"1A","output-port-name":"2B"},"state":{"status":"CONNECTED"}},
    {"name":"bad","config":{"input-port-name":"9A","output-port-name":"2B"},"state":{"status":"INVALID"}}]})";
  box.read(table);
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 1}})) << "what is INVALID carries no light";
  box.begin(Command::Kind::remove, {{0, 1}});
  box.reply_to(box.sent(), update_response(table));
  const auto set = parsed<gnmi::SetRequest>(box.sent().body);
  ASSERT_EQ(set.delete__size(), 2);
  EXPECT_EQ(text_of(set.delete_(0)), "connections/port-connection[name=bad]");
  EXPECT_EQ(text_of(set.delete_(1)), "connections/port-connection[name=job7/w1]");
  EXPECT_EQ(set.delete_(1).elem_size(), 2);
}

TEST(GnmiDriver, WritesSonicTables) {
  Gnmi box(Dialect::sonic_gnmi);
  box.begin(Command::Kind::add, {{0, 1}});
  const Frame add = box.sent();
  const auto set = parsed<gnmi::SetRequest>(add.body);
  EXPECT_EQ(set.prefix().origin(), "sonic-db");
  ASSERT_EQ(set.update_size(), 1);
  EXPECT_EQ(text_of(set.update(0).path()), "CONFIG_DB/localhost/OCS_CROSS_CONNECT/1A-2B");
  EXPECT_EQ(set.update(0).val().json_ietf_val(), R"({"a_side":"1A","b_side":"2B"})");
  box.reply_to(add, gnmi::SetResponse().SerializeAsString());
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  box.begin(Command::Kind::set_ports, {}, {1}, false);
  const auto ports = parsed<gnmi::SetRequest>(box.sent().body);
  EXPECT_EQ(text_of(ports.update(0).path()), "CONFIG_DB/localhost/OCS_PORT/2B");
  EXPECT_EQ(ports.update(0).val().json_ietf_val(), R"({"state":"force_blocked"})");
}

TEST(GnmiDriver, ClearsWhatIsOnlyInTheStateByAddThenDelete) {
  Gnmi box(Dialect::sonic_gnmi);
  box.begin(Command::Kind::read);
  box.reply_to(box.sent(), update_response("{}"));
  box.reply_to(box.sent(), update_response(R"({"1A-2B":{"a_side":"1A","b_side":"2B"}})"));
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 1}}));
  box.begin(Command::Kind::remove, {{0, 1}});
  box.reply_to(box.sent(), update_response("{}"));
  box.reply_to(box.sent(), update_response(R"({"1A-2B":{"a_side":"1A","b_side":"2B"}})"));
  const Frame first = box.sent();
  EXPECT_EQ(parsed<gnmi::SetRequest>(first.body).update_size(), 1);
  box.reply_to(first, gnmi::SetResponse().SerializeAsString());
  const Frame second = box.sent();
  EXPECT_EQ(parsed<gnmi::SetRequest>(second.body).delete__size(), 1);
  box.reply_to(second, gnmi::SetResponse().SerializeAsString());
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(GnmiDriver, ReadsStatusAndPower) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::readings);
  box.reply_to(box.sent(), update_response(R"({"component":[{"name":"chassis"},
    {"name":"1B","ocp-ocs-port":{"state":{"status":"TUNED","output-optical-power":"-3.5"}}},
    {"name":"2B","ocp-ocs-port":{"state":{"status":"TUNING","output-optical-power":-60}}},
    {"name":"99B","ocp-ocs-port":{"state":{"status":"TUNED"}}}]})"));
  const Answer answer = box.answer();
  ASSERT_EQ(answer.snapshot.outputs.size(), 16U);
  EXPECT_EQ(answer.snapshot.outputs[0].status, PortStatus::tuned);
  EXPECT_EQ(answer.snapshot.outputs[0].power_dbm, -3.5);
  EXPECT_EQ(answer.snapshot.outputs[1].status, PortStatus::tuning);
  EXPECT_EQ(answer.snapshot.outputs[1].power_dbm, -60.0);
}

TEST(GnmiDriver, TellsRefusalFromFailure) {
  Gnmi box(Dialect::ocp_gnmi);
  const auto outcome = [&](int status) {
    box.begin(Command::Kind::add, {{0, 1}});
    box.reply_to(box.sent(), "text", status);
    return box.answer().outcome;
  };
  EXPECT_EQ(outcome(3), Outcome::rejected);
  EXPECT_EQ(outcome(9), Outcome::rejected);
  EXPECT_EQ(outcome(13), Outcome::failed) << "internal: Sets have been seen to fail and be applied";
  EXPECT_EQ(outcome(14), Outcome::failed);
  EXPECT_EQ(outcome(4), Outcome::failed);
}

TEST(GnmiDriver, NeverTakesALateReplyForAnother) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::add, {{0, 1}});
  const Frame first = box.sent();
  box.driver->expire();
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_FALSE(box.driver->wants_new_connection());
  box.begin(Command::Kind::add, {{1, 2}});
  const Frame second = box.sent();
  EXPECT_NE(first.target, second.target);
  box.reply_to(first, gnmi::SetResponse().SerializeAsString());
  EXPECT_TRUE(box.waits());
  box.reply_to(second, "", 9);
  EXPECT_EQ(box.answer().outcome, Outcome::rejected);
}

TEST(GnmiDriver, MakesEventsOfUpdatesAndSubscribesAgainWhenTheStreamEnds) {
  Gnmi box(Dialect::ocp_gnmi);
  gnmi::SubscribeResponse changed;
  changed.mutable_update()->add_update();
  box.reply_to(box.stream, changed.SerializeAsString());
  EXPECT_EQ(box.driver->take_events().size(), 1U);
  Frame stranger = box.stream;
  stranger.target = "77";
  box.reply_to(stranger, changed.SerializeAsString());
  EXPECT_TRUE(box.driver->take_events().empty());

  box.driver->receive({"end", box.stream.target, 14, ""});
  box.begin(Command::Kind::read);
  box.reply_to(box.sent(), update_response("{}"));
  const Frame again = box.sent();
  EXPECT_EQ(again.verb, "Subscribe");
  EXPECT_NE(again.target, box.stream.target);
  box.reply_to(again, "garbage");
  EXPECT_TRUE(box.waits());
  box.reply_to(again, sync());
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
}

TEST(GnmiDriver, RefusesWhatMakesNoSense) {
  Gnmi box(Dialect::ocp_gnmi);
  for (const char* json :
       {"[]", "{", R"({"port-connection":{}})", R"({"port-connection":[{}]})", "7",
        R"({"port-connection":[{"name":"a","config":{"input-port-name":"1B","output-port-name":"2B"}}]})",
        R"({"port-connection":[{"name":"a","config":{"input-port-name":"0A","output-port-name":"2B"}}]})",
        R"({"port-connection":[{"name":"a]","config":{"input-port-name":"1A","output-port-name":"2B"}}]})",
        R"({"port-connection":[{"name":"a","config":{"input-port-name":"1A","output-port-name":"17B"}}]})"}) {
    box.read(json);
    EXPECT_EQ(box.answer().outcome, Outcome::unknown) << json;
  }
  Gnmi sonic(Dialect::sonic_gnmi);
  sonic.begin(Command::Kind::read);
  sonic.reply_to(sonic.sent(), update_response(R"({"1A-17B":{}})"));
  EXPECT_EQ(sonic.answer().outcome, Outcome::unknown);
}

RC_GTEST_PROP(GnmiDriverProperty, SurvivesAnyBytes, (const std::string& body, const std::string& json)) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::readings);
  const Frame request = box.sent();
  box.reply_to(box.stream, body);
  box.reply_to(request, json.empty() ? body : update_response(json));
  RC_ASSERT(box.driver->take_answer().has_value());
}

gnmi::Update& leaf(gnmi::Notification& notification, const std::string& path) {
  gnmi::Update& update = *notification.add_update();
  for (const auto& element : elements(path)) {
    gnmi::PathElem& added = *update.mutable_path()->add_elem();
    added.set_name(element.name);
    if (!element.key.empty()) (*added.mutable_key())[element.key] = element.value;
  }
  return update;
}

TEST(GnmiTree, PutsLeavesTogether) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::read);
  gnmi::GetResponse response;
  gnmi::Notification& notification = *response.add_notification();
  notification.mutable_prefix()->add_elem()->set_name("ocp:connections");
  const std::string entry = "port-connection[name=a]/";
  leaf(notification, entry + "config/input-port-name").mutable_val()->set_string_val("1A");
  leaf(notification, entry + "config/output-port-name").mutable_val()->set_json_ietf_val("\"2B\"");
  leaf(notification, entry + "state").mutable_val()->set_json_val(R"({"status":"CONNECTED"})");
  leaf(notification, "port-connection[name=b]/config")
      .mutable_val()
      ->set_json_ietf_val(R"({"input-port-name":"3A","output-port-name":"4B"})");
  box.reply_to(box.sent(), response.SerializeAsString());
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::applied);
  EXPECT_EQ(answer.snapshot.connections, (Pairs{{0, 1}, {2, 3}}));
}

TEST(GnmiTree, RefusesAnswersThatContradictThemselves) {
  Gnmi box(Dialect::ocp_gnmi);
  box.begin(Command::Kind::read);
  gnmi::GetResponse response;
  gnmi::Notification& notification = *response.add_notification();
  leaf(notification, "connections").mutable_val()->set_string_val("none");
  leaf(notification, "connections/port-connection[name=a]/config/name").mutable_val()->set_string_val("a");
  box.reply_to(box.sent(), response.SerializeAsString());
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
}

TEST(GnmiModel, CutsPathsOutsideOfBrackets) {
  const auto parts = elements("connections/port-connection[name=1/2]/config");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].name, "port-connection");
  EXPECT_EQ(parts[1].key, "name");
  EXPECT_EQ(parts[1].value, "1/2");
  EXPECT_TRUE(elements("").empty());
  EXPECT_EQ(elements("a[").size(), 1U);
  EXPECT_EQ(elements("a[b=c").front().value, "c");
}

// ---- the front end

struct Box {
  explicit Box(Dialect dialect, FrontEndOptions options = {}, SwitchModelSpec spec = {}) : model(std::move(spec)) {
    front_end = make_front_end(dialect, model, std::move(options));
    front_end->opened(1, now);
  }
  std::vector<Frame> ask(const std::string& verb, const std::string& body) {
    front_end->receive(1, {verb, "5", 0, body}, now);
    now += milliseconds(200);
    front_end->advance(now);
    std::vector<Frame> frames;
    for (FrontEndReply& reply : front_end->take_replies()) {
      EXPECT_EQ(reply.frame.target, "5");
      frames.push_back(std::move(reply.frame));
    }
    return frames;
  }
  // A Set in the text form of protobuf; its status.
  int set(const std::string& text) {
    gnmi::SetRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    const auto frames = ask("Set", request.SerializeAsString());
    return frames.empty() ? -1 : frames.front().status;
  }
  std::string get(const std::string& text) {
    gnmi::GetRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    const auto frames = ask("Get", request.SerializeAsString());
    if (frames.empty() || frames.front().status != 0) return "";
    return parsed<gnmi::GetResponse>(frames.front().body).notification(0).update(0).val().json_ietf_val();
  }
  Pairs matrix() { return model.connections(now); }
  Instant now{};
  SwitchModel model;
  std::unique_ptr<FrontEnd> front_end;
};

std::string ocp_delete(const std::string& name) {
  return "delete { elem { name: 'connections' } elem { name: 'port-connection' key { key: 'name' value: '" + name +
         "' } } } ";
}

std::string ocp_update(const std::string& name, const std::string& in, const std::string& out) {
  return "update { path { elem { name: 'connections' } elem { name: 'port-connection' key { key: 'name' value: '" +
         name + R"(' } } } val { json_ietf_val: '{"config":{"name":")" + name + R"(","input-port-name":")" + in +
         R"(","output-port-name":")" + out + R"("}}' } } )";
}

TEST(GnmiFrontEnd, CarriesOutTheExampleOfTheOcpDraft) {
  Box box(Dialect::ocp_gnmi);
  EXPECT_EQ(box.set(ocp_update("job7-w1-0", "1A", "2B")), 0);
  EXPECT_EQ(box.set("prefix { target: 'rail3' } " + ocp_delete("job7-w1-0") + ocp_update("job7-w2-0", "1A", "9B")), 0);
  EXPECT_EQ(box.matrix(), (Pairs{{0, 8}}));
  const std::string json = box.get("path { elem { name: 'connections' } }");
  EXPECT_NE(json.find(R"("name":"job7-w2-0")"), std::string::npos) << json;
  EXPECT_NE(json.find("CONNECTED"), std::string::npos) << json;
}

TEST(GnmiFrontEnd, RefusesAWholeSetThatItCannotCarryOut) {
  Box box(Dialect::ocp_gnmi);
  EXPECT_EQ(box.set(ocp_update("a", "1A", "2B")), 0);
  EXPECT_EQ(box.set(ocp_update("b", "3A", "4B") + ocp_update("c", "2A", "2B")), 9);
  EXPECT_EQ(box.set(ocp_update("b", "3A", "4B") + ocp_update("c", "2A", "17B")), 3);
  EXPECT_EQ(
      box.set(ocp_update("b", "3A", "4B") + "update { path { elem { name: 'system' } } val { json_ietf_val: '{}' } }"),
      3);
  EXPECT_EQ(box.matrix(), (Pairs{{0, 1}}));
  EXPECT_EQ(box.ask("Set", "\x08\xff\xff").front().status, 3);
  EXPECT_EQ(box.ask("Reboot", "").front().status, 12);
  EXPECT_EQ(box.get("path { elem { name: 'system' } }"), "");
}

TEST(GnmiFrontEnd, KeepsInvalidEntriesUntilTheyAreDeleted) {
  FrontEndOptions options;
  options.firmware_variant = "keep-invalid";
  Box box(Dialect::ocp_gnmi, options);
  EXPECT_EQ(box.set(ocp_update("a", "1A", "2B")), 0);
  EXPECT_EQ(box.set(ocp_update("b", "2A", "2B")), 0);
  EXPECT_NE(box.get("path { elem { name: 'connections' } }").find("INVALID"), std::string::npos);
  EXPECT_EQ(box.matrix(), (Pairs{{0, 1}}));
  EXPECT_EQ(box.set(ocp_delete("b")), 0);
  EXPECT_EQ(box.get("path { elem { name: 'connections' } }").find("INVALID"), std::string::npos);
}

std::string sonic_path(const std::string& table, const std::string& key) {
  return "elem { name: 'CONFIG_DB' } elem { name: 'localhost' } elem { name: '" + table + "' } elem { name: '" + key +
         "' } ";
}
std::string sonic_update(const std::string& a, const std::string& b) {
  return "update { path { " + sonic_path("OCS_CROSS_CONNECT", a + "-" + b) + R"(} val { json_ietf_val: '{"a_side":")" +
         a + R"(","b_side":")" + b + R"("}' } } )";
}

TEST(GnmiFrontEnd, StealsBusyPortsAsSonicDoes) {
  Box box(Dialect::sonic_gnmi);
  EXPECT_EQ(box.set("prefix { origin: 'sonic-db' } " + sonic_update("1A", "2B")), 0);
  EXPECT_EQ(box.set(sonic_update("3A", "2B")), 0);
  EXPECT_EQ(box.matrix(), (Pairs{{2, 1}}));
  EXPECT_EQ(box.set("delete { " + sonic_path("OCS_CROSS_CONNECT", "3A-2B") + "}"), 0);
  EXPECT_TRUE(box.matrix().empty());
  EXPECT_EQ(box.set("update { path { " + sonic_path("OCS_CROSS_CONNECT", "1A-3B") +
                    R"(} val { json_ietf_val: '{"a_side":"1A","b_side":"2B"}' } })"),
            3)
      << "key and sides differ";
}

TEST(GnmiFrontEnd, StreamsChangesToWhoSubscribed) {
  Box box(Dialect::ocp_gnmi);
  gnmi::SubscribeRequest request;
  request.mutable_subscribe()->add_subscription()->mutable_path()->add_elem()->set_name("connections");
  const auto first = box.ask("Subscribe", request.SerializeAsString());
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(parsed<gnmi::SubscribeResponse>(first[0].body).has_update());
  EXPECT_TRUE(parsed<gnmi::SubscribeResponse>(first[1].body).sync_response());
  gnmi::SetRequest set;
  google::protobuf::TextFormat::ParseFromString(ocp_update("a", "1A", "2B"), &set);
  const auto frames = box.ask("Set", set.SerializeAsString());
  ASSERT_GE(frames.size(), 2U);
  EXPECT_EQ(frames.back().verb, "Subscribe");
  EXPECT_NE(parsed<gnmi::SubscribeResponse>(frames.back().body).update().update(0).val().json_ietf_val().find("1A"),
            std::string::npos);

  request.mutable_subscribe()->set_mode(gnmi::SubscriptionList::ONCE);
  const auto once = box.ask("Subscribe", request.SerializeAsString());
  ASSERT_EQ(once.size(), 3U);
  EXPECT_EQ(once.back().verb, "end");
}

RC_GTEST_PROP(GnmiFrontEndProperty, SurvivesAnyBytes, (const std::string& body, const std::string& text)) {
  for (const Dialect dialect : {Dialect::ocp_gnmi, Dialect::sonic_gnmi}) {
    Box box(dialect);
    for (const char* verb : {"Capabilities", "Get", "Set", "Subscribe"}) box.ask(verb, body);
    gnmi::SetRequest set;
    gnmi::Update& update = *set.add_update();
    for (const auto& element : elements("CONFIG_DB/localhost/OCS_CROSS_CONNECT/" + text)) {
      update.mutable_path()->add_elem()->set_name(element.name.empty() ? "x" : "y");
    }
    update.mutable_val()->set_json_ietf_val(text);
    box.ask("Set", set.SerializeAsString());
    RC_ASSERT(box.matrix().empty());
  }
}

}  // namespace
}  // namespace photonrail::device
