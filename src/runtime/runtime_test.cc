#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/config.h"
#include "runtime/event_queue.h"
#include "runtime/log.h"
#include "runtime/metrics.h"

namespace photonrail::runtime {
namespace {

// Whatever comes from outside, a line of the log is one line and JSON.
RC_GTEST_PROP(Log, AnyTextIsJson, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const std::string quoted = json_text(text);
  RC_ASSERT(quoted.find('\n') == std::string::npos);
  boost::system::error_code problem;
  const auto value = boost::json::parse(quoted, problem);
  RC_ASSERT(!problem);
  RC_ASSERT(value.is_string());
}

TEST(Log, Utf8StaysAndOtherBytesAreReplaced) {
  EXPECT_EQ(json_text("µ € 𝄞"), "\"µ € 𝄞\"");
  EXPECT_EQ(json_text("a\xff"
                      "b\xc0\xaf"),
            "\"a\\ufffdb\\ufffd\\ufffd\"");
  EXPECT_EQ(json_text("\"\\\n\t"), "\"\\\"\\\\\\u000a\\u0009\"");
}

TEST(Log, AFloodIsCountedAndErrorsAreNot) {
  std::string name = testing::TempDir() + "/log-XXXXXX";
  const int file = ::mkstemp(name.data());
  ASSERT_GE(file, 0);
  Log log(file);
  constexpr unsigned kLines = 3 * Log::kBurst;
  for (unsigned i = 0; i < kLines; ++i) log.write(Log::Level::warning, "flood");
  log.write(Log::Level::error, "important", {{"password_of", "nobody"}, {"n", 5u}});
  log.write(Log::Level::debug, "below the threshold");
  ::close(file);
  std::ifstream in(name);
  unsigned floods = 0;
  bool important = false;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"flood\"") != line.npos) ++floods;
    important = important || line.find("\"important\",\"password_of\":\"nobody\",\"n\":5}") != line.npos;
    EXPECT_EQ(line.find("threshold"), line.npos);
  }
  EXPECT_GE(floods, Log::kBurst);
  EXPECT_LT(floods, kLines);
  EXPECT_TRUE(important);
}

TEST(EventQueue, KeepsOrderAndBounds) {
  EventQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(i));
  EXPECT_FALSE(queue.push(3));
  queue.push_always(4);
  std::vector<int> taken = {99};
  queue.take(taken, std::chrono::seconds(0));
  EXPECT_EQ(taken, (std::vector<int>{0, 1, 2, 4}));
  queue.take(taken, std::chrono::milliseconds(1));
  EXPECT_TRUE(taken.empty());
}

TEST(EventQueue, NothingIsLostBetweenThreads) {
  constexpr int kThreads = 4, kEach = 5000;
  EventQueue<std::pair<int, int>> queue(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, t] {
      for (int i = 0; i < kEach; ++i) queue.push_always({t, i});
    });
  }
  std::vector<int> next(kThreads, 0);
  std::vector<std::pair<int, int>> taken;
  for (int seen = 0; seen < kThreads * kEach;) {
    queue.take(taken, std::chrono::seconds(5));
    ASSERT_FALSE(taken.empty());
    for (const auto& [t, i] : taken) ASSERT_EQ(i, next[static_cast<std::size_t>(t)]++) << "each thread's order is kept";
    seen += static_cast<int>(taken.size());
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Metrics, BucketsAreCumulativeAndLabelsEscaped) {
  Metrics metrics({"rail0", "a\"b\\c"});
  metrics.switches[0].switching.add(std::chrono::milliseconds(15));
  metrics.switches[0].switching.add(std::chrono::milliseconds(20));  // a bound belongs to its bucket
  metrics.switches[0].switching.add(std::chrono::hours(1));
  const std::string page = render(metrics, {}, "1.0");
  const auto has = [&](const std::string& line) { EXPECT_NE(page.find(line + "\n"), page.npos) << line; };
  has("photonrail_switch_seconds_bucket{switch=\"rail0\",le=\"0.01\"} 0");
  has("photonrail_switch_seconds_bucket{switch=\"rail0\",le=\"0.02\"} 2");
  has("photonrail_switch_seconds_bucket{switch=\"rail0\",le=\"60\"} 2");
  has("photonrail_switch_seconds_bucket{switch=\"rail0\",le=\"+Inf\"} 3");
  has("photonrail_switch_seconds_count{switch=\"rail0\"} 3");
  EXPECT_NE(page.find("photonrail_switch_seconds_sum{switch=\"rail0\"} 3600.035"), page.npos);
  has("photonrail_switch_connections_total{switch=\"a\\\"b\\\\c\"} 0");
  has("# TYPE photonrail_switch_seconds histogram");
}

std::string config_error(const std::string& text) {
  std::string directory = testing::TempDir() + "/config-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return "no directory";
  const std::string file = directory + "/d.toml";
  std::ofstream(file) << text;
  const auto config = load_config(file);
  return config ? "" : config.error().message;
}

constexpr const char* kSwitch =
    "[[switch]]\nname = \"rail0\"\ndialect = \"polatis-scpi\"\naddress = \"127.0.0.1:5025\"\n";

TEST(Config, DefaultsAreSafe) {
  EXPECT_NE(config_error(kSwitch).find("tls.certificate, tls.key and tls.authority are needed"), std::string::npos)
      << "no TLS by accident";
  const std::string open = "[listen]\naddress = \"10.0.0.1:7443\"\nplaintext = true\n";
  EXPECT_NE(config_error(open + kSwitch).find("loopback alone"), std::string::npos);
  EXPECT_EQ(config_error("[listen]\nplaintext = true\n" + std::string(kSwitch)), "");
  EXPECT_NE(config_error("[listen]\nplaintext = true\n[metrics]\naddress = \"0.0.0.0:9464\"\n" + std::string(kSwitch))
                .find("no authentication"),
            std::string::npos);
}

TEST(Config, EveryMistakeIsNamedWithItsPlace) {
  const std::string text = fmt::format(
      "[listen]\nplaintext = true\n[lease]\nduration = \"1 s\"\nmargin = \"1 s\"\n{0}{0}[[switch]]\nname = \"a/b\"\n"
      "dialect = \"morse\"\naddress = \"nowhere\"\n",
      kSwitch);
  const std::string error = config_error(text);
  for (const char* part : {"d.toml:5:", "more than a third", "another switch is called \"rail0\"",
                           "no name for a switch", "unknown dialect \"morse\"", "\"nowhere\" is no address"}) {
    EXPECT_NE(error.find(part), std::string::npos) << part << " in:\n" << error;
  }
  EXPECT_NE(config_error("[listen]\nplaintext = true\nplaintxt = 1\n").find("plaintext"), std::string::npos);
}

TEST(Config, EndpointsAreParsedStrictly) {
  EXPECT_EQ(parse_endpoint("[::1]:5025")->host, "::1");
  EXPECT_EQ(parse_endpoint("a.b:1")->port, "1");
  for (const char* text : {"", "a", ":1", "a:", "a:b", "a:70000", "::1:5025", "[]:1", "[a:1", "a:-1", "a:1x"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
  EXPECT_TRUE(is_loopback({"127.9.9.9", "1"}));
  EXPECT_TRUE(is_loopback({"::1", "1"}));
  EXPECT_FALSE(is_loopback({"127.0.0.1.evil.example", "1"}));
  EXPECT_FALSE(is_loopback({"10.0.0.1", "1"}));
}

}  // namespace
}  // namespace photonrail::runtime
