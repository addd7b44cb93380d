#include "catalog/catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "catalog/describe.h"

namespace photonrail::catalog {
namespace {

Catalog builtin() {
  Result<Catalog> catalog = Catalog::builtin();
  EXPECT_TRUE(catalog.has_value()) << catalog.error().message;
  return catalog ? *catalog : Catalog{};
}

// Counts figures, and those that break the rule that each has a source or a reason for being unknown.
struct Audit {
  int figures = 0;
  int unknown = 0;
  int faults = 0;
  template <class T>
  void operator()(std::string_view, Figure<T>& figure, std::string_view) {
    ++figures;
    if (!figure.known()) ++unknown;
    if (figure.known() ? figure.source.empty() : figure.unknown.empty()) ++faults;
  }
  template <class T>
  void operator()(std::string_view, T&, std::string_view) {}
};

template <class Entry>
void audit(std::vector<Entry>& entries, Audit& result) {
  for (Entry& entry : entries) list_fields(result, entry);
}

TEST(Catalog, EveryFigureHasASourceOrAReason) {
  Catalog catalog = builtin();
  Audit result;
  audit(catalog.gpus, result);
  audit(catalog.nics, result);
  audit(catalog.optics, result);
  audit(catalog.switches, result);
  audit(catalog.ocses, result);
  audit(catalog.fibres, result);
  audit(catalog.models, result);
  EXPECT_EQ(result.faults, 0);
  EXPECT_GT(result.figures, 250);
  EXPECT_GT(result.unknown, 30);  // nothing is invented to fill a gap
}

TEST(Catalog, HoldsTheWantedEntries) {
  const Catalog catalog = builtin();
  for (const char* name : {"A100", "H100", "H200", "B200", "GB200", "GB300", "MI300X"})
    EXPECT_TRUE(catalog.gpu(name)) << name;
  for (const char* name : {"polatis-6000", "polatis-6000n", "polatis-7000", "calient-s320", "palomar", "lumentum-r300",
                           "coherent-lc-320", "telescent", "siph-24"}) {
    EXPECT_TRUE(catalog.ocs(name)) << name;
  }
  for (const char* name : {"llama-2-7b", "llama-3.1-405b", "llama-80b-opus", "gpt-80b-opus", "gpt-3-175b",
                           "deepseek-v3", "mixtral-8x7b", "mixtral-8x22b"}) {
    EXPECT_TRUE(catalog.model(name)) << name;
  }
  EXPECT_EQ(catalog.gpu("h200")->bf16.value->flops_per_second, 989e12);
  EXPECT_EQ(*catalog.ocs("polatis-6000n")->dark.value, milliseconds(25));
}

// A wrong dimension of a model shows as a wrong number of parameters: 1 % off. Totals that are published rounded (the
// note says so) allow 3 %, rounded active parameters 6 %: makers differ on whether embeddings count.
TEST(Catalog, DimensionsGiveThePublishedParameters) {
  for (const Model& model : builtin().models) {
    const ParameterCount count = count_parameters(model);
    const double published = base_value(*model.parameters.value);
    const bool rounded = model.parameters.note.find("rounded") == 0 || model.parameters.source == "opus-simulation";
    EXPECT_NEAR(static_cast<double>(count.total) / published, 1.0, rounded ? 0.03 : 0.01) << model.name;
    if (!model.active_parameters.known()) continue;
    const double active = base_value(*model.active_parameters.value);
    const bool loose = model.active_parameters.note.find("rounded") == 0;
    EXPECT_NEAR(static_cast<double>(count.active) / active, 1.0, loose ? 0.06 : 0.03) << model.name;
  }
}

TEST(Catalog, ParametersOfLlama2ByHand) {
  // 32 layers of 4 * 4096^2 + 3 * 4096 * 11008, two embeddings of 32000 * 4096; norms (266,240) are left out.
  EXPECT_EQ(count_parameters(*builtin().model("llama-2-7b")).total, 6'738'149'376);
}

TEST(Catalog, NearestNameInTheError) {
  const Result<Gpu> gpu = builtin().gpu("H20");
  ASSERT_FALSE(gpu.has_value());
  EXPECT_NE(gpu.error().message.find("did you mean \"H200\""), std::string::npos) << gpu.error().message;
}

class Overrides : public ::testing::Test {
 protected:
  Overrides()
      : directory_(std::filesystem::temp_directory_path() / ("photonrail-catalog-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~Overrides() override { std::filesystem::remove_all(directory_); }
  Result<Catalog> load(const std::string& text) {
    std::ofstream(directory_ / "own.toml") << text;
    return Catalog::with_overrides(directory_.string());
  }
  std::filesystem::path directory_;
};

TEST_F(Overrides, ReplacesAndAdds) {
  const Result<Catalog> catalog = load(R"(
[[source]]
id = "quote"
title = "our quote"
where = "here"
date = "2026-11"
kind = "vendor"
[[fibre]]
name = "duplex-os2"
title = "ours"
source = "quote"
fibre_pairs = 1
price = "$12"
[[fibre]]
name = "hollow"
title = "new"
source = "quote"
fibre_pairs = 1
price = { low = "$100", high = "$300" }
)");
  ASSERT_TRUE(catalog.has_value()) << catalog.error().message;
  EXPECT_EQ(catalog->fibre("duplex-os2")->price.value->amount, 12);
  EXPECT_EQ(range_of(catalog->fibre("hollow")->price).base, 200);
  EXPECT_TRUE(catalog->fibre("mpo-os2").has_value());
}

TEST_F(Overrides, RefusesWhatIsNotFounded) {
  const std::string entry = "[[fibre]]\nname = \"x\"\ntitle = \"x\"\nfibre_pairs = 1\n";
  const auto message = [&](const std::string& rest) {
    const Result<Catalog> catalog = load(entry + rest);
    return catalog ? std::string("accepted") : catalog.error().message;
  };
  EXPECT_NE(message("source = \"nobody\"\nprice = \"$1\"\n").find("\"nobody\" is not in the catalog"),
            std::string::npos);
  EXPECT_NE(message("source = \"fs-fibre\"\n").find("price: is missing"), std::string::npos);
  EXPECT_NE(message("source = \"fs-fibre\"\nprice = { low = \"$5\", high = \"$1\" }\n").find("not in order"),
            std::string::npos);
  EXPECT_NE(message("source = \"fs-fibre\"\nprice = { low = \"$5\" }\n").find("both ends"), std::string::npos);
  EXPECT_NE(message("source = \"fs-fibre\"\nprize = \"$5\"\n").find("did you mean \"price\"?"), std::string::npos);
  EXPECT_NE(message("source = \"fs-fibre\"\nprice = \"5 W\"\n").find("own.toml:6:"), std::string::npos);
}

TEST(CatalogRender, TextShowsSourcesAndUnknowns) {
  const Catalog catalog = builtin();
  const std::string text = *show_text(catalog, "Polatis-7000");
  EXPECT_NE(text.find("384"), std::string::npos);
  EXPECT_NE(text.find("unknown  no price published"), std::string::npos) << text;
  EXPECT_NE(text.find("comment in a public network power model"), std::string::npos);
  EXPECT_NE(list_text(catalog).find("deepseek-v3"), std::string::npos);
  EXPECT_FALSE(show_text(catalog, "polatis-9000").has_value());
}

TEST(CatalogRender, JsonHoldsNumbersInBaseUnits) {
  const std::string json = *show_json(builtin(), "H100");
  EXPECT_NE(json.find("\"kind\":\"gpu\""), std::string::npos);
  EXPECT_NE(json.find("9.89E14"), std::string::npos) << json;
}

}  // namespace
}  // namespace photonrail::catalog
