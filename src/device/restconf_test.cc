// RESTCONF dialect: texts written by hand against RFC 8040, RFC 7951 and the module optical-switch.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "device/restconf_driver.h"
#include "device/restconf_front_end.h"
#include "device/test_dialogue.h"

namespace photonrail::device {
namespace {

using std::chrono::milliseconds;
using Pairs = std::vector<CrossConnect>;

constexpr const char* kProduct =
    R"({"optical-switch:product-information":{"manufacturer":"Polatis","serial-number":"9",)"
    R"("model-name":"OST-24x24-LU1",)"
    R"("software-version":"6.7.3.9"}})";
constexpr const char* kPower = R"({"optical-switch:opm-power":{"port":[{"port-id":25,"power":"-3.21"},)"
                               R"({"port-id":26,"power":-60.0}]}})";

struct Restconf : Dialogue {
  explicit Restconf(int power_status = 200) : Dialogue(Dialect::polatis_restconf, {"admin", "root"}) {
    driver->connected();
    first = sent();
    reply(kProduct, 200);
    sent();
    reply(power_status == 200 ? kPower : "", power_status);
    identified = answer();
  }
  Frame first;
  Answer identified;
};

TEST(RestconfDriver, LearnsWhoTheSwitchIs) {
  Restconf box;
  EXPECT_EQ(box.first.verb, "GET");
  EXPECT_EQ(box.first.target, "/api/data/optical-switch:product-information");
  EXPECT_EQ(box.first.authorization, "Basic YWRtaW46cm9vdA==");
  EXPECT_EQ(box.identified.outcome, Outcome::applied);
  EXPECT_EQ(box.identified.identity.model, "OST-24x24-LU1");
  EXPECT_EQ(box.identified.identity.inputs, 24);
  EXPECT_TRUE(box.driver->capabilities().power);
  EXPECT_FALSE(Restconf(404).driver->capabilities().power);
}

TEST(RestconfDriver, PutsAndDeletesPairByPair) {
  Restconf box;
  box.begin(Command::Kind::add, {{0, 12}, {1, 13}});
  const Frame put = box.sent();
  EXPECT_EQ(put.verb, "PUT");
  EXPECT_EQ(put.target, "/api/data/optical-switch:cross-connects/pair=1");
  EXPECT_EQ(put.body, R"({"optical-switch:pair":[{"ingress":1,"egress":37}]})");
  box.reply("", 201);
  EXPECT_EQ(box.sent().target, "/api/data/optical-switch:cross-connects/pair=2");
  box.reply(R"({"ietf-restconf:errors":{"error":[{"error-tag":"in-use"}]}})", 409);
  const Answer answer = box.answer();
  EXPECT_EQ(answer.outcome, Outcome::failed) << "a part was done";
  EXPECT_EQ(answer.pairs, (std::vector{Outcome::applied, Outcome::rejected}));

  box.begin(Command::Kind::remove, {{0, 12}, {7, 7}});
  EXPECT_EQ(box.sent().verb, "GET");
  box.reply(R"({"optical-switch:cross-connects":{"pair":[{"ingress":1,"egress":37},{"ingress":8,"egress":33}]}})", 200);
  const Frame remove = box.sent();
  EXPECT_EQ(remove.verb, "DELETE");
  EXPECT_EQ(remove.target, "/api/data/optical-switch:cross-connects/pair=1");
  box.reply("", 404);
  EXPECT_EQ(box.answer().outcome, Outcome::applied) << "what is not there need not be removed";

  box.begin(Command::Kind::set_ports, {}, {0}, false);
  const Frame post = box.sent();
  EXPECT_EQ(post.target, "/api/operations/optical-switch:port-set-state");
  EXPECT_EQ(post.body, R"({"optical-switch:input":{"port-disab":[25]}})");
}

TEST(RestconfDriver, TellsRefusalFromFailure) {
  Restconf box;
  const auto outcome = [&](int status) {
    box.begin(Command::Kind::add, {{0, 0}});
    box.sent();
    box.reply("why", status);
    return box.answer();
  };
  EXPECT_EQ(outcome(400).outcome, Outcome::rejected);
  EXPECT_EQ(outcome(401).outcome, Outcome::rejected);
  EXPECT_EQ(outcome(408).outcome, Outcome::failed) << "the box ran out of time: it may have acted";
  EXPECT_EQ(outcome(500).outcome, Outcome::failed);
  EXPECT_EQ(outcome(302).outcome, Outcome::failed);
  EXPECT_EQ(outcome(500).device_text, "500 why");
  EXPECT_EQ(outcome(204).outcome, Outcome::applied);
}

TEST(RestconfDriver, ShowsNoPasswordInWhatTheDeviceEchoes) {
  Restconf box;
  box.begin(Command::Kind::read);
  box.sent();
  box.reply("user admin, password root", 401);
  EXPECT_EQ(box.answer().device_text.find("root"), std::string::npos);
}

TEST(RestconfDriver, ReadsConnectionsPortsAndPower) {
  Restconf box;
  box.begin(Command::Kind::read);
  box.sent();
  box.reply(R"({"optical-switch:cross-connects":{"pair":[{"ingress":2,"egress":25},{"ingress":1,"egress":37}]}})", 200);
  EXPECT_EQ(box.answer().snapshot.connections, (Pairs{{0, 12}, {1, 0}}));
  box.begin(Command::Kind::read);
  box.sent();
  box.reply(R"({"optical-switch:cross-connects":{}})", 200);
  EXPECT_EQ(box.answer().outcome, Outcome::applied);
  box.begin(Command::Kind::readings);
  box.sent();
  box.reply(R"({"optical-switch:port-config":{"port":[{"port-id":25,"status":"DISABLED"},{"port-id":1}]}})", 200);
  box.sent();
  box.reply(kPower, 200);
  const Answer answer = box.answer();
  ASSERT_EQ(answer.snapshot.outputs.size(), 24U);
  EXPECT_EQ(answer.snapshot.outputs[0].status, PortStatus::disabled);
  EXPECT_EQ(answer.snapshot.outputs[0].power_dbm, -3.21);
  EXPECT_EQ(answer.snapshot.outputs[1].power_dbm, -60.0);
}

TEST(RestconfDriver, RefusesWhatMakesNoSense) {
  Restconf box;
  for (const char* body :
       {"", "[]", "{}", "{\"optical-switch:cross-connects\":7}", "nul",
        R"({"optical-switch:cross-connects":{"pair":{}}})", R"({"optical-switch:cross-connects":{"pair":[7]}})",
        R"({"optical-switch:cross-connects":{"pair":[{"ingress":0,"egress":25}]}})",
        R"({"optical-switch:cross-connects":{"pair":[{"ingress":1.5,"egress":25}]}})",
        R"({"optical-switch:cross-connects":{"pair":[{"ingress":65537,"egress":25}]}})",
        R"({"optical-switch:cross-connects":{"pair":[{"ingress":1,"egress":49}]}})"}) {
    box.begin(Command::Kind::read);
    box.sent();
    box.reply(body, 200);
    EXPECT_EQ(box.answer().outcome, Outcome::unknown) << body;
  }
  box.begin(Command::Kind::read);
  box.sent();
  box.reply(std::string(100000, '['), 200);
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
}

TEST(RestconfDriver, GivesUpAConnectionWhoseRepliesCannotBeToldApart) {
  Restconf box;
  box.begin(Command::Kind::add, {{0, 0}});
  box.driver->expire();
  EXPECT_EQ(box.answer().outcome, Outcome::unknown);
  EXPECT_TRUE(box.driver->wants_new_connection());
  box.reply("", 204);
  box.begin(Command::Kind::add, {{1, 1}});
  EXPECT_EQ(box.answer().outcome, Outcome::unknown) << "nothing is sent on it any more";
}

RC_GTEST_PROP(RestconfDriverProperty, SurvivesAnyBody, (const std::string& body)) {
  Restconf box;
  box.begin(Command::Kind::readings);
  box.sent();
  box.reply(body, 200);
  RC_ASSERT(box.answer().outcome == Outcome::unknown);
}

// ---- the front end

struct Box {
  explicit Box(FrontEndOptions options = {}) : model(SwitchModelSpec{}) {
    front_end = make_front_end(Dialect::polatis_restconf, model, std::move(options));
    front_end->opened(1, now);
  }
  Frame ask(const std::string& verb, const std::string& target, const std::string& body = "",
            const std::string& authorization = "") {
    Frame frame{verb, target, 0, body, authorization};
    front_end->receive(1, frame, now);
    now += milliseconds(100);
    const auto replies = front_end->take_replies();
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? Frame{} : replies.front().frame;
  }
  Frame put(unsigned in, unsigned out) {
    return ask(
        "PUT", kContainer + "/pair=" + std::to_string(in),
        R"({"optical-switch:pair":[{"ingress":)" + std::to_string(in) + R"(,"egress":)" + std::to_string(out) + "}]}");
  }
  Pairs matrix() { return model.connections(now); }
  const std::string kContainer = "/api/data/optical-switch:cross-connects";
  Instant now{};
  SwitchModel model;
  std::unique_ptr<FrontEnd> front_end;
};

TEST(RestconfFrontEnd, CreatesReplacesAndDeletes) {
  Box box;
  EXPECT_EQ(box.put(1, 18).status, 201);
  EXPECT_EQ(box.put(1, 18).status, 204);
  EXPECT_EQ(box.put(1, 19).status, 204);
  EXPECT_EQ(box.matrix(), (Pairs{{0, 2}}));
  EXPECT_EQ(box.put(2, 19).status, 409);
  EXPECT_EQ(box.ask("GET", box.kContainer).body,
            R"({"optical-switch:cross-connects":{"pair":[{"ingress":1,"egress":19}]}})");
  EXPECT_EQ(box.ask("GET", box.kContainer + "/pair=1").body, R"({"optical-switch:pair":[{"ingress":1,"egress":19}]})");
  EXPECT_EQ(box.ask("DELETE", box.kContainer + "/pair=1").status, 204);
  EXPECT_EQ(box.ask("DELETE", box.kContainer + "/pair=1").status, 404);
  EXPECT_EQ(
      box.ask("PATCH", box.kContainer + "/pair", R"({"pair":[{"ingress":1,"egress":17},{"ingress":2,"egress":18}]})")
          .status,
      204);
  EXPECT_EQ(box.ask("PUT", box.kContainer, R"({"optical-switch:cross-connects":{"pair":[{"ingress":3,"egress":17}]}})")
                .status,
            204)
      << "the container replaces all";
  EXPECT_EQ(box.matrix(), (Pairs{{2, 0}}));
}

TEST(RestconfFrontEnd, RefusesWhatItDoesNotUnderstand) {
  Box box;
  EXPECT_EQ(box.put(0, 17).status, 400);
  EXPECT_EQ(box.put(1, 16).status, 400);
  EXPECT_EQ(box.put(1, 33).status, 400);
  EXPECT_EQ(box.ask("PUT", box.kContainer + "/pair=2", R"({"pair":[{"ingress":1,"egress":17}]})").status, 400);
  EXPECT_EQ(box.ask("PUT", box.kContainer + "/pair=1", "{").status, 400);
  EXPECT_EQ(box.ask("POST", box.kContainer, "{}").status, 405);
  EXPECT_EQ(box.ask("GET", "/api/data/other:thing").status, 404);
  EXPECT_EQ(box.ask("GET", "/etc/passwd").status, 404);
  EXPECT_EQ(box.ask("DELETE", box.kContainer).status, 405) << "never all at once";
  EXPECT_EQ(
      box.ask("POST", "/api/operations/optical-switch:port-set-state", R"({"optical-switch:input":{"port-enab":[1]}})")
          .status,
      400)
      << "an ingress";
  EXPECT_TRUE(box.model.writer_log().empty());
}

TEST(RestconfFrontEnd, AsksForNameAndPassword) {
  FrontEndOptions options;
  options.credentials = {"admin", "root"};
  Box box(options);
  EXPECT_EQ(box.ask("GET", box.kContainer).status, 401);
  EXPECT_EQ(box.ask("GET", box.kContainer, "", "Basic YWRtaW46cm9vdB==").status, 401);
  EXPECT_EQ(box.ask("GET", box.kContainer, "", basic_authorization({"admin", "root"})).status, 200);
}

RC_GTEST_PROP(RestconfFrontEndProperty, SurvivesAnything,
              (const std::string& verb, const std::string& tail, const std::string& body)) {
  Box box;
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE", "POST"}) {
    box.ask(method, box.kContainer + tail, body);
    box.ask(method, "/api/operations/optical-switch:port-set-state", body);
  }
  box.ask(verb, tail, body);
}

}  // namespace
}  // namespace photonrail::device
