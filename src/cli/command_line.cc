#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "config/diagnostics.h"

namespace photonrail::cli {
namespace {

constexpr const char* kAbout =
    "Plan, simulate and explain photonic fabrics for AI clusters.\n"
    "A scenario is a TOML file; `photonrail schema` describes every field, examples/ has some to start from.";

constexpr const char* kExamples = R"(Examples:
  photonrail simulate examples/llama-80b-h200-128.toml
  photonrail simulate my.toml --set rail.ports=2 --out results
  photonrail explain results/report.json overhead --case provisioned@100ms
  photonrail cost --gpus 2048 --gpu H200 --mode as_published

Exit status: 0 done, 1 defect of the program, 2 command line, 3 scenario or input refused,
             4 cannot be done (too few ports, a deadlock), 5 file cannot be read or written.
`photonrail COMMAND --help` tells more about a command.)";

const std::map<std::string, Format> kFormats = {{"text", Format::text}, {"json", Format::json}, {"csv", Format::csv}};
const std::map<std::string, Physics> kPhysics = {
    {"published", Physics::published}, {"own", Physics::own}, {"reasons", Physics::reasons}};
constexpr unsigned kMostThreads = 1024;

// CLI11's ranges let "nan" pass.
std::string plain_number(const std::string& text) {
  return text.find_first_not_of("0123456789.") == text.npos ? "" : "a plain number is wanted, such as 5 or 2.5";
}

void add_format(CLI::App& app, Format& format) {
  app.add_option("--format", format, "Form of the result: text, json or csv (default: text)")
      ->transform(CLI::CheckedTransformer(kFormats))
      ->option_text("text|json|csv");
}

void add_threads(CLI::App& app, unsigned& threads) {
  app.add_option("--threads", threads, "Threads to run cases on (default: all that the machine has)")
      ->check(CLI::Range(1U, kMostThreads))
      ->option_text("N");
}

void add_catalog(CLI::App& app, std::string& directory) {
  app.add_option("--catalog", directory, "Directory with catalog files that add to or replace built-in entries")
      ->option_text("DIR");
}

void add_source(CLI::App& app, ScenarioSource& source, const std::string& name, const std::string& what,
                bool required) {
  app.add_option(name, source.file, what)->required(required)->option_text(" ");
  app.add_option("--set", source.sets, "Replace a value of the scenario, for example rail.ports=2; may be repeated")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  add_catalog(app, source.catalog_directory);
}

// Every command: a sub-command of `app` that stores its options in `chosen` when it is given.
class Commands {
 public:
  Commands(CLI::App& app, std::optional<Command>& chosen) : app_(app), chosen_(chosen) {}

  void add_all() {
    add_simulate();
    add_estimate();
    add_windows();
    add_cost();
    add_check();
    add_reproduce();
    add_validate();
    add_explain();
    add_show();
    add_schema();
    add_catalog_command();
    add_infer();
    add_energy();
    add_dlrm();
    add_sensitivity();
    add_emulate_ocs();
    add_netconf_bridge();
    add_ctl();
    add_replay();
    add_audit();
    add_version();
  }

 private:
  template <class Options>
  CLI::App& command(const char* name, const char* about, const char* examples, Options& options) {
    CLI::App* added = app_.add_subcommand(name, about);
    added->footer(examples);
    added->callback([this, &options] { chosen_ = options; });
    return *added;
  }

  void add_simulate() {
    CLI::App& c = command("simulate",
                          "Run one training step on every fabric and policy of a scenario, side by side: step time, "
                          "overhead, switching, windows, traffic, power, energy and cost",
                          "Examples:\n"
                          "  photonrail simulate examples/llama-80b-h200-128.toml\n"
                          "  photonrail simulate my.toml --format csv > cases.csv\n"
                          "  photonrail simulate my.toml --set training.microbatches=32 --out results\n"
                          "--out leaves report.txt, report.json, report.csv and scenario.toml (as run).",
                          simulate_);
    add_source(c, simulate_.source, "SCENARIO", "Scenario file (TOML)", true);
    add_format(c, simulate_.format);
    c.add_option("--out", simulate_.out, "Directory for the report in every format and the scenario as run")
        ->option_text("DIR");
    add_threads(c, simulate_.threads);
    c.add_flag("--quiet", simulate_.quiet, "No progress on standard error");
  }

  void add_estimate() {
    CLI::App& c =
        command("estimate",
                "The step of a scenario in closed form, in milliseconds where a simulation takes seconds: the "
                "same cases as `simulate` without congestion and switching, the step on calibrated kernels, "
                "and memory per GPU",
                "Examples:\n"
                "  photonrail estimate examples/llama-80b-h200-128.toml\n"
                "  photonrail estimate my.toml --set training.recompute=full --format csv\n"
                "The closed form is never above the simulated time, and equal where nothing contends.",
                estimate_);
    add_source(c, estimate_.source, "SCENARIO", "Scenario file (TOML), as of `simulate`", true);
    c.add_flag("--rooflines-only", estimate_.rooflines_only, "Without the step on calibrated kernels");
    c.add_flag("--overlap-tensor", estimate_.overlap_tensor,
               "Calibrated: collectives of the tensor group pipelined with the products beside them");
    add_format(c, estimate_.format);
    c.add_option("--out", estimate_.out, "Directory for the report in every format and the scenario as run")
        ->option_text("DIR");
  }

  void add_windows() {
    CLI::App& c =
        command("windows",
                "Phases of traffic per rail and the windows between them: quantiles, by transition and by the "
                "traffic that follows; which windows hide a switch",
                "Examples:\n"
                "  photonrail windows examples/llama-80b-h200-128.toml\n"
                "  photonrail windows my.toml --case provisioned@10ms --switching-time '25 ms'\n"
                "  photonrail windows traces.tar.xz --domain 8 --gpu H200",
                windows_);
    add_source(c, windows_.source, "SCENARIO|TRACE", "Scenario file, or a directory or archive of Chakra traces", true);
    c.add_option("--case", windows_.on, "Case whose run is looked at (default: the baseline)")
        ->option_text("NAME[@TIME]");
    c.add_option("--switching-time", windows_.switching_time, "Switching time to hide (default: of the scenario's OCS)")
        ->option_text("TIME");
    c.add_option("--domain", windows_.domain, "Traces: GPUs in one scale-up domain (default: 8)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
        ->option_text("N");
    c.add_option("--gpu", windows_.gpu, "Traces: GPU of the catalog (default: H200)")->option_text("NAME");
    c.add_option(
         "--gpu-price", windows_.gpu_price,
         "Price of a GPU with its share of the server, for the time at which rails stop paying (default: energy "
         "alone decides)")
        ->option_text("MONEY");
    c.add_option("--years", windows_.years, "Years that purchases are spread over (default: 5)")
        ->check(CLI::Range(0.1, 100.0))
        ->check(plain_number)
        ->option_text("N");
    c.add_option("--electricity", windows_.electricity, "Price of a kWh (default: 0.10 USD)")->option_text("MONEY");
    add_format(c, windows_.format);
    add_threads(c, windows_.threads);
  }

  void add_cost() {
    CLI::App& c =
        command("cost",
                "Bill of materials, price and power of photonic rails and of electrical fabrics, their ratios, "
                "and what moves the ratios",
                "Examples:\n"
                "  photonrail cost examples/llama-80b-h200-128.toml\n"
                "  photonrail cost --gpus 2048 --gpu GB200 --domain 32 --rate '800 Gb/s'\n"
                "  photonrail cost --gpus 2048 --gpu H200 --mode as_published\n"
                "  photonrail cost --mode as_published          the paper's table of sizes and GPUs\n"
                "as_published uses the formulas of the Opus paper, real counts whole boxes, ports and fibres.",
                cost_);
    add_source(c, cost_.source, "SCENARIO", "Scenario file; or give --gpus and --gpu", false);
    c.add_option("--gpus", cost_.gpus, "Number of GPUs, in place of the scenario's")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 22))
        ->option_text("N");
    c.add_option("--gpu", cost_.gpu, "GPU of the catalog (default: H200)")->option_text("NAME");
    c.add_option("--domain", cost_.domain, "GPUs in one scale-up domain (default: the scenario's, or the GPU's own)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))
        ->option_text("N");
    c.add_option("--rate", cost_.rate, "Network rate per GPU and direction (default: the scenario's, or the GPU's own)")
        ->option_text("RATE");
    c.add_option("--mode", cost_.mode, "as_published or real (default: the scenario's, or real)")
        ->check(CLI::IsMember({"as_published", "real"}))
        ->option_text("MODE");
    c.add_option("--samples", cost_.samples, "Samples of the Monte Carlo over price and power ranges (default: 10000)")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
        ->option_text("N");
    add_format(c, cost_.format);
  }

  void add_check() {
    CLI::App& c = command("check",
                          "Is what a scenario models physically possible? Every modelled rate against the smallest cut "
                          "that it crosses, bytes in flight and memory; of pools, inference and training scenarios",
                          "Examples:\n"
                          "  photonrail check examples/pool-paper-table-5.toml\n"
                          "  photonrail check examples/pool-appliance.toml --set accelerator.count=8\n"
                          "  photonrail check my-inference.toml --pool examples/pool-appliance.toml\n"
                          "What is broken is named with its figures and the status is 4; as_published = true lets it "
                          "pass, and every result says so.",
                          check_);
    add_source(c, check_.source, "SCENARIO", "Scenario file (TOML)", true);
    c.add_option("--pool", check_.pool, "Inference scenarios: file that declares the pool (default: the paper's)")
        ->option_text("FILE");
    add_format(c, check_.format);
    c.add_option("--out", check_.out, "Directory for the report in every format")->option_text("DIR");
  }

  void add_reproduce() {
    CLI::App& c = command("reproduce", "Our numbers beside a paper's, by its published rules and workloads",
                          "Examples:\n"
                          "  photonrail reproduce opus --data ../shared/data/opus\n"
                          "  photonrail reproduce opus --data DIR --format json > rows.json\n"
                          "  photonrail reproduce photonic-fabric\n"
                          "  photonrail reproduce photonic-fabric --only T5 --only T7 --physics published",
                          reproduce_);
    c.add_option("PAPER", reproduce_.paper, "Paper: opus or photonic-fabric")
        ->required()
        ->check(CLI::IsMember({"opus", "photonic-fabric"}))
        ->option_text(" ");
    c.add_option("--data", reproduce_.data,
                 "opus: folder with targets.csv, traces/ and configs/ (not part of the clone); photonic-fabric: folder "
                 "with celestisim_bandwidth_sensitivity.csv (default: its rows are left out)")
        ->option_text("DIR");
    c.add_option("--only", reproduce_.only, "Only rows whose id contains this text; may be repeated")
        ->option_text("TEXT")
        ->allow_extra_args(false);
    c.add_option("--physics", reproduce_.physics,
                 "What to show beside the published rules: published (nothing), own (the same run by Photonrail's own "
                 "physics), reasons (also what each reason for the difference is worth) (default: reasons)")
        ->transform(CLI::CheckedTransformer(kPhysics))
        ->option_text("published|own|reasons");
    add_format(c, reproduce_.format);
    c.add_option("--out", reproduce_.out, "Directory for the table in every format")->option_text("DIR");
    add_threads(c, reproduce_.threads);
    c.add_flag("--quiet", reproduce_.quiet, "No progress on standard error");
  }

  void add_validate() {
    CLI::App& c =
        command("validate", "Measured tables beside ours: error by gate, table, model, GPU and regime",
                "Takes any folder of tables with the file names and columns of the public data; files that it "
                "does not know are named and passed over.\n\n"
                "Examples:\n"
                "  photonrail validate --data ../shared/data/validation\n"
                "  photonrail validate --data DIR --only tpot-dense --format csv > points.csv",
                validate_);
    c.add_option("--data", validate_.data, "Folder of measured tables (not part of the clone)")
        ->required()
        ->option_text("DIR");
    c.add_option("--only", validate_.only,
                 "Only rows whose id, GPU or model contains this text, or of this gate; may be repeated")
        ->option_text("TEXT")
        ->allow_extra_args(false);
    add_catalog(c, validate_.catalog_directory);
    add_format(c, validate_.format);
    c.add_option("--out", validate_.out, "Directory for the summary and the points")->option_text("DIR");
    c.add_flag("--quiet", validate_.quiet, "No progress on standard error");
  }

  void add_dlrm() {
    CLI::App& c =
        command("dlrm",
                "A step of a recommendation model with its embedding tables in GPUs joined by NVLink, in host "
                "memory, and in a photonic pool: pooling, step, parts, memory, energy",
                "Examples:\n"
                "  photonrail dlrm examples/dlrm-dcnv2-h100x8.toml\n"
                "  photonrail dlrm my.toml --set sharding.spread=row --format csv\n"
                "  photonrail dlrm examples/dlrm-pool.toml --map     which parameters give 22.8x\n"
                "--out leaves report.txt, report.json, report.csv and scenario.toml (as run).",
                dlrm_);
    add_source(c, dlrm_.source, "SCENARIO", "Scenario file (TOML)", true);
    c.add_flag("--map", dlrm_.map,
               "Sweep tables, sharding, links and batch: the rate of the pool at which its gain is the published 22.8");
    add_format(c, dlrm_.format);
    c.add_option("--out", dlrm_.out, "Directory for the report in every format and the scenario as run")
        ->option_text("DIR");
  }

  void add_explain() {
    CLI::App& c = command("explain", "Where a number of a report comes from: formula, inputs, sources, assumptions",
                          "Examples:\n"
                          "  photonrail explain results/report.json\n"
                          "  photonrail explain results/report.json overhead\n"
                          "  photonrail explain results/report.json energy_per_step --case on_demand@100ms\n"
                          "  photonrail explain my.toml mfu",
                          explain_);
    add_source(c, explain_.source, "REPORT|SCENARIO",
               "report.json of any command (--out DIR), or a training scenario, which is then simulated", true);
    c.add_option("ID", explain_.metric,
                 "Number to explain: an id, a heading of a table or a label; without it all ids are listed")
        ->option_text(" ");
    c.add_option("--case", explain_.on, "Case of the report to explain it for")->option_text("NAME[@TIME]");
    add_threads(c, explain_.threads);
  }

  void add_show() {
    CLI::App& c = command("show", "A whole training scenario, defaults included, with the origin of each value",
                          "Example:\n  photonrail show my.toml --set rail.ports=2", show_);
    add_source(c, show_.source, "SCENARIO", "Training scenario (TOML); of inference: photonrail infer FILE --show",
               true);
  }

  void add_schema() {
    CLI::App& c = command(
        "schema", "Every field of a command's input file: as JSON Schema, or as a reference page",
        "Examples:\n  photonrail schema > scenario.schema.json\n  photonrail schema infer --format markdown", schema_);
    c.add_option("COMMAND", schema_.command, "Command whose input file it is (default: simulate)")
        ->check(CLI::IsMember(schema_commands()))
        ->option_text(" ");
    static const std::map<std::string, bool> kForms = {{"json", false}, {"markdown", true}};
    c.add_option("--format", schema_.markdown, "json or markdown (default: json)")
        ->transform(CLI::CheckedTransformer(kForms))
        ->option_text("json|markdown");
  }

  void add_catalog_command() {
    CLI::App& c = command("catalog", "GPUs, NICs, optics, switches and models, each figure with its source",
                          "Examples:\n  photonrail catalog\n  photonrail catalog show H200 --format json", catalog_);
    c.require_subcommand(0, 1);
    const auto common = [this](CLI::App& to) {
      static const std::map<std::string, Format> kForms = {{"text", Format::text}, {"json", Format::json}};
      to.add_option("--format", catalog_.format, "text or json (default: text)")
          ->transform(CLI::CheckedTransformer(kForms))
          ->option_text("text|json");
      add_catalog(to, catalog_.directory);
    };
    common(c);
    common(*c.add_subcommand("list", "All entries"));
    CLI::App* show = c.add_subcommand("show", "One entry with all its figures");
    show->add_option("NAME", catalog_.show, "Name of the entry")->required()->option_text(" ");
    common(*show);
  }

  void add_infer() {
    CLI::App& c =
        command("infer",
                "Serve a language model: time to the first token, time per token, throughput, memory and energy "
                "of one configuration, or of the best that a search finds",
                "Examples:\n"
                "  photonrail infer examples/infer-llama-70b-h100.toml\n"
                "  photonrail infer my.toml --set parallel.tensor=8 --set serving.batch=64\n"
                "  photonrail infer my.toml --search --set \"search.tpot_limit=30 ms\"\n"
                "A configuration that does not fit the memory is refused (exit status 4) with the shortfall.",
                infer_);
    add_source(c, infer_.source, "SCENARIO", "Inference scenario (TOML)", true);
    c.add_flag("--search", infer_.search, "Try every combination of [search]; show the best and the Pareto front");
    c.add_flag("--show", infer_.show, "Only print the scenario, defaults included, with the origin of each value");
    add_format(c, infer_.format);
    c.add_option("--out", infer_.out, "Directory for the report in every format and the scenario as run")
        ->option_text("DIR");
  }

  void add_energy() {
    CLI::App& c = command(
        "energy",
        "Energy of a training step: per bit, as the photonic fabric paper has it, and by components with their static "
        "power; what each constant does to the saving",
        "Examples:\n"
        "  photonrail energy examples/energy-gpt3-h100-512.toml\n"
        "  photonrail energy examples/energy-llama-80b.toml --set published.photonic_adapter='30 pJ'\n"
        "  photonrail energy examples/energy-llama-80b.toml --set scenario.training.sequence=8192\n"
        "Sweeps and break-evens of any value: photonrail sensitivity energy FILE.",
        energy_);
    add_source(c, energy_.source, "SCENARIO", "Energy scenario (TOML)", true);
    add_format(c, energy_.format);
    c.add_option("--out", energy_.out, "Directory for the report in every format and the scenario as run")
        ->option_text("DIR");
    add_threads(c, energy_.threads);
    c.add_flag("--quiet", energy_.quiet, "No progress on standard error");
  }

  void add_sensitivity() {
    CLI::App& c = command(
        "sensitivity",
        "What moves a result of any command: sweeps, tornado, Monte Carlo and break-even over any value of its "
        "scenario",
        "Examples:\n"
        "  photonrail sensitivity infer my.toml                             lists the metrics\n"
        "  photonrail sensitivity infer my.toml --vary serving.batch=1..64:7 --metric tpot\n"
        "  photonrail sensitivity cost my.toml --vary cluster.gpus=128,256 --metric rail_optimised/cost\n"
        "  photonrail sensitivity energy my.toml --tornado --vary 'published.adapter=20 pJ..65 pJ' \\\n"
        "      --vary 'published.photonic_switch=15 pJ..35 pJ' --metric saving\n"
        "  photonrail sensitivity energy my.toml --break-even 'published.photonic_adapter=0 pJ..65 pJ' \\\n"
        "      --metric saving --target 0.6\n"
        "A range is LOW..HIGH or LOW..BASE..HIGH, with units, then :N points, :log, :uniform, :normal, :lognormal or "
        ":triangular.",
        sensitivity_);
    c.add_option("COMMAND", sensitivity_.command,
                 "Command whose scenario is varied: simulate, estimate, cost, infer, check, dlrm or energy")
        ->required()
        ->option_text(" ");
    add_source(c, sensitivity_.source, "SCENARIO", "Its scenario (TOML)", true);
    c.add_option("--vary", sensitivity_.vary, "Parameter and its range or list; may be repeated")
        ->option_text("PATH=LOW..HIGH")
        ->allow_extra_args(false);
    c.add_option("--metric", sensitivity_.metrics, "Metric, or the end of its name; may be repeated")
        ->option_text("NAME")
        ->allow_extra_args(false);
    c.add_flag("--tornado", sensitivity_.tornado, "Each parameter alone at both ends, and elasticities");
    c.add_option("--monte-carlo", sensitivity_.samples, "All parameters sampled together, so many times")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
        ->option_text("N");
    c.add_option("--seed", sensitivity_.seed, "Seed of the samples (default: 1)")
        ->check([](const std::string& text) {
          return text.starts_with('-') ? "a whole number of at least 0 is wanted, not " + text : std::string();
        })
        ->option_text("N");
    c.add_option("--rank", sensitivity_.rank, "Monte Carlo: how stable the order of the metrics with this prefix is")
        ->option_text("PREFIX");
    c.add_option("--break-even", sensitivity_.break_even, "Value of a parameter at which the metric meets its target")
        ->option_text("PATH=LOW..HIGH");
    c.add_option("--target", sensitivity_.target, "Target, in the base unit of the metric (s, B/s, J, USD, 1 is 100 %)")
        ->option_text("VALUE");
    c.add_option("--equals", sensitivity_.equals, "Or: the metric of another scenario of the same command")
        ->option_text("SCENARIO");
    c.add_option("--equals-set", sensitivity_.equals_sets, "Replace a value of that scenario; may be repeated")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false);
    add_format(c, sensitivity_.format);
    c.add_option("--out", sensitivity_.out, "Directory for the result in every format")->option_text("DIR");
    add_threads(c, sensitivity_.threads);
    c.add_flag("--quiet", sensitivity_.quiet, "No progress on standard error");
  }

  void add_emulate_ocs() {
    CLI::App& c =
        command("emulate-ocs",
                "Be an optical circuit switch: one seeded matrix behind any number of protocols on real sockets, with "
                "the faults that are asked for. Ends at SIGTERM",
                "Examples:\n"
                "  photonrail emulate-ocs\n"
                "  photonrail emulate-ocs --size 64x64 --listen scpi=127.0.0.1:5025 --listen tl1=127.0.0.1:3082\n"
                "  photonrail emulate-ocs --settle '200 ms' --fault partial=0.01 --fault no_reply=0.01\n"
                "  photonrail emulate-ocs --writer-log ocs.log --dump ocs.json --cold-boot restore\n"
                "Dialects: scpi (port 5025), tl1 (3082), calient (3083), glimmerglass (3082), netconf (8300),\n"
                "restconf (8008), gnmi (9339), sonic (9339); also by their whole names (polatis-scpi, ...).\n"
                "Port 0 is any that is free. Prints the addresses, then \"ready\". SIGUSR1 writes the dump.\n"
                "Faults and what they do: docs/models/switch-emulator.md.",
                emulate_ocs_);
    c.add_option("--listen", emulate_ocs_.listen, "Address to listen on (default: 127.0.0.1 and the usual port)")
        ->option_text("[DIALECT=]HOST:PORT")
        ->allow_extra_args(false);
    c.add_option("--dialect", emulate_ocs_.dialect, "Dialect of addresses that name none (default: scpi)")
        ->option_text("DIALECT");
    c.add_flag("--anywhere", emulate_ocs_.anywhere,
               "Listen beyond loopback too: whoever reaches the address moves circuits");
    add_emulated_box(c);
    add_emulated_behaviour(c);
    add_emulated_files(c);
    c.add_option("--format", emulate_ocs_.format, "Form of the addresses: text or json (default: text)")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, Format>{{"text", Format::text}, {"json", Format::json}}))
        ->option_text("text|json");
  }

  void add_emulated_box(CLI::App& c) {
    c.add_option("--size", emulate_ocs_.size, "Inputs and outputs (default: 16x16)")->option_text("NxM");
    c.add_option("--maker", emulate_ocs_.maker, "What the switch says of itself: maker")->option_text("TEXT");
    c.add_option("--model", emulate_ocs_.model, "... model (default: EMU-NxM)")->option_text("TEXT");
    c.add_option("--serial", emulate_ocs_.serial, "... serial number (default: 0001)")->option_text("TEXT");
    c.add_option("--firmware", emulate_ocs_.firmware, "... firmware (default: 1.0)")->option_text("TEXT");
    c.add_option("--variant", emulate_ocs_.variants,
                 "Behave as another firmware in one dialect, for example scpi=none-marker; may be repeated")
        ->option_text("DIALECT=NAME")
        ->allow_extra_args(false);
    c.add_flag("--no-power", emulate_ocs_.no_power, "A model without power detectors");
    c.add_option("--conflict", emulate_ocs_.conflict, "What an add over a busy port does: rejects (default) or steals")
        ->option_text("rejects|steals");
    c.add_option("--cold-boot", emulate_ocs_.cold_boot,
                 "What a start leaves: remove (default), restore or maintain the matrix of the writer log")
        ->option_text("remove|restore|maintain");
    c.add_option("--sessions", emulate_ocs_.sessions, "Most sessions of a dialect (default: 5)")
        ->check(CLI::Range(1U, 1024U))
        ->option_text("N");
  }

  void add_emulated_behaviour(CLI::App& c) {
    c.add_option("--seed", emulate_ocs_.seed, "Of every draw (default: 1)")->check(plain_number)->option_text("N");
    c.add_option("--settle", emulate_ocs_.settle, "Median time from acceptance to light (default: 20 ms)")
        ->option_text("TIME");
    c.add_option("--settle-sigma", emulate_ocs_.settle_sigma,
                 "Deviation of the logarithm of that time (default: 0.2)")
        ->check(plain_number)
        ->check(CLI::Range(0.0, 3.0))
        ->option_text("NUMBER");
    c.add_option("--command-time", emulate_ocs_.command_time, "Of one command; others queue behind (default: 2 ms)")
        ->option_text("TIME");
    c.add_option("--min-gap", emulate_ocs_.min_gap,
                 "Commands closer to each other wedge the switch for a second (default: none do)")
        ->option_text("TIME");
    c.add_option("--fault", emulate_ocs_.faults,
                 "Misbehave: probability for each command, or times a second for foreign_change, port_fails and "
                 "retunes; may be repeated")
        ->option_text("NAME=NUMBER")
        ->allow_extra_args(false);
    c.add_option("--late-by", emulate_ocs_.late_by, "How late the replies of late_reply are (default: 3 s)")
        ->option_text("TIME");
    c.add_flag("--silent-partial", emulate_ocs_.silent_partial, "Batches applied in part are reported as whole");
  }

  void add_emulated_files(CLI::App& c) {
    c.add_option("--user", emulate_ocs_.user, "Ask for a login, where the dialect has one")->option_text("NAME");
    c.add_option("--password-file", emulate_ocs_.password_file, "File whose first line is the password")
        ->option_text("FILE");
    c.add_option("--certificate", emulate_ocs_.certificate, "TLS for gnmi, sonic and restconf: certificate (PEM)")
        ->option_text("FILE");
    c.add_option("--key", emulate_ocs_.key, "... its private key (PEM)")->option_text("FILE");
    c.add_option("--authority", emulate_ocs_.authority, "... who signs clients' certificates (PEM)")
        ->option_text("FILE");
    c.add_option("--writer-log", emulate_ocs_.writer_log, "Append every change of the true matrix (JSON lines)")
        ->option_text("FILE");
    c.add_option("--dump", emulate_ocs_.dump, "Write the true matrix and light here, at SIGUSR1 and at the end (JSON)")
        ->option_text("FILE");
  }

  using Ctl = CtlOptions::Action;

  void add_ctl() {
    CLI::App& c = *app_.add_subcommand("ctl", "Operate photonraild: jobs, circuits, ports, switches, history");
    c.footer(
        "Examples:\n"
        "  photonrail ctl make-certificates certs --job train\n"
        "  photonrail ctl --certificates certs status\n"
        "  photonrail ctl --certificates certs plan job.toml && photonrail ctl --certificates certs submit job.toml\n"
        "  photonrail ctl --certificates certs drain rail0:5 --reason 'cleaning'\n"
        "  photonrail ctl probe 10.0.0.7:5025 --dialect polatis-scpi\n"
        "Environment: PHOTONRAIL_ADDRESS, PHOTONRAIL_CERTIFICATES, PHOTONRAIL_CERTIFICATE, PHOTONRAIL_KEY,\n"
        "PHOTONRAIL_AUTHORITY, PHOTONRAIL_AS, PHOTONRAIL_IDENTITY, PHOTONRAIL_SITE. docs/operate.md: the first hour.");
    c.require_subcommand(1);
    add_ctl_connection(c);
    add_ctl_reading(c);
    add_ctl_changes(c);
    add_ctl_certificates(c);
    add_ctl_ranks(c);
  }

  void add_ctl_connection(CLI::App& c) {
    const auto option = [&c](const char* name, std::string& value, const char* variable, const char* what) {
      c.add_option(name, value, what)->envname(variable)->option_text("TEXT");
    };
    option("--address", ctl_.address, "PHOTONRAIL_ADDRESS", "Address of the daemon (default: 127.0.0.1:7443)");
    option("--certificates", ctl_.certificates, "PHOTONRAIL_CERTIFICATES", "Directory of make-certificates");
    option("--as", ctl_.as, "PHOTONRAIL_AS", "Whose certificate of it: operator (default), scheduler or viewer");
    option("--certificate", ctl_.certificate, "PHOTONRAIL_CERTIFICATE", "Or: our certificate (PEM)");
    option("--key", ctl_.key, "PHOTONRAIL_KEY", "... its private key (PEM)");
    option("--authority", ctl_.authority, "PHOTONRAIL_AUTHORITY", "... who signs the daemon's certificate (PEM)");
    option("--server-name", ctl_.server_name, "PHOTONRAIL_SERVER_NAME", "Name expected in the daemon's certificate");
    option("--identity", ctl_.identity, "PHOTONRAIL_IDENTITY", "With --plaintext: the SPIFFE ID to claim");
    option("--site", ctl_.site, "PHOTONRAIL_SITE", "Name of the site in identities (default: trial)");
    c.add_flag("--plaintext", ctl_.plaintext, "No TLS: only to a daemon that listens so, on loopback");
    c.add_option("--timeout", ctl_.timeout_seconds, "Seconds to wait for an answer (default: 10)")
        ->check(CLI::Range(0.1, 3600.0))
        ->option_text("N");
    static const std::map<std::string, bool> kForms = {{"text", false}, {"json", true}};
    c.add_option("--format", ctl_.json, "text or json (default: text)")
        ->transform(CLI::CheckedTransformer(kForms))
        ->option_text("text|json");
  }

  // `what`: of the one argument; nullptr where there is none.
  CLI::App& ctl_action(CLI::App& c, const char* name, Ctl action, const char* about, const char* argument = nullptr,
                       const char* what = nullptr) {
    CLI::App* added = c.add_subcommand(name, about);
    added->fallthrough();  // options of the connection may also stand behind
    if (argument != nullptr) added->add_option(argument, ctl_.target, what)->required()->option_text(" ");
    added->callback([this, action] {
      ctl_.action = action;
      chosen_ = ctl_;
    });
    return *added;
  }

  void add_ctl_reading(CLI::App& c) {
    ctl_action(c, "status", Ctl::status, "Switches, jobs and circuits");
    ctl_action(c, "circuits", Ctl::circuits, "Circuits: what is intended, what is applied, whether light is there");
    ctl_action(c, "jobs", Ctl::jobs, "Jobs, their ranks and what they did");
    ctl_action(c, "plan", Ctl::plan, "What submit would do, or why it would be refused; changes nothing", "JOB",
               "Job file (TOML)");
    CLI::App& history = ctl_action(c, "history", Ctl::history, "Who did what: records of the audit log, newest last");
    history.add_option("--job", ctl_.job, "Only of this job")->option_text("NAME");
    history.add_option("--containing", ctl_.text, "Only records with this text, such as rail0:5")->option_text("TEXT");
    history.add_option("--limit", ctl_.limit, "The last so many (default: 100)")
        ->check(CLI::Range(1U, 10'000U))
        ->option_text("N");
    ctl_action(c, "watch", Ctl::watch, "Audit records and alarms from now on, a line each");
    CLI::App& probe = ctl_action(c, "probe", Ctl::probe,
                                 "First contact with a switch, read-only: identity, abilities, circuits, light",
                                 "SWITCH",
                                 "Name of a switch of the daemon; with --dialect: host:port, reached from here");
    probe.add_option("--dialect", ctl_.dialect, "Not through the daemon: polatis-scpi, polatis-tl1, calient-tl1, ...")
        ->option_text("NAME");
    probe.add_option("--user", ctl_.user, "With --dialect: who logs in")->option_text("NAME");
    probe.add_option("--password-file", ctl_.password_file, "... file whose first line is the password")
        ->option_text("FILE");
    ctl_action(c, "bundle", Ctl::bundle, "Status, history and probes in files, for support; no secrets", "DIR",
               "Directory to make");
  }

  void add_ctl_changes(CLI::App& c) {
    ctl_action(c, "submit", Ctl::submit, "Give a job its ports; its ranks may then attach", "JOB", "Job file (TOML)");
    ctl_action(c, "end", Ctl::end, "End a job; its ports are free when no rank of it can be alive", "JOB", "Its name")
        .add_option("--epoch", ctl_.epoch, "Which life of it (default: the running one)")
        ->option_text("N");
    const auto reason = [this](CLI::App& action) {
      action.add_option("--reason", ctl_.reason, "Kept in audit and status")->option_text("TEXT");
    };
    reason(ctl_action(c, "drain", Ctl::drain, "Take a port out of use as soon as nothing holds it", "PORT",
                      "switch:position"));
    reason(ctl_action(c, "undrain", Ctl::undrain, "Take a drained or quarantined port into use again", "PORT",
                      "switch:position"));
    reason(ctl_action(c, "quarantine", Ctl::quarantine, "Take a port out of use because it is bad", "PORT",
                      "switch:position"));
    CLI::App& maintenance = ctl_action(c, "maintenance", Ctl::maintenance,
                                       "Change nothing on a switch any more, until --over", "SWITCH", "Its name");
    maintenance.add_flag("--over", ctl_.over, "The maintenance is over");
    reason(maintenance);
  }

  void add_ctl_ranks(CLI::App& c) {
    CLI::App& e = ctl_action(c, "emulate-ranks", Ctl::emulate_ranks,
                             "Play the ranks of a job that was submitted: they exchange with one neighbour, then with "
                             "the other, so that circuits move. Speaks as job-NAME",
                             "JOB", "Job file (TOML)");
    e.add_option("--seconds", ctl_.seconds, "How long (default: 10)")->check(CLI::Range(0.1, 1e6))->option_text("N");
    e.add_option("--run", ctl_.run_ms, "Milliseconds that an operation takes (default: 10)")->option_text("N");
    e.add_option("--pause", ctl_.pause_ms, "... and a rank rests after it (default: 50)")->option_text("N");
    e.add_option("--gang", ctl_.gang, "Rings of so many ranks instead, which never switch: load")->option_text("N");
    e.add_option("--ranks-per-stream", ctl_.per_stream, "More than one: node agents (default: 1)")
        ->check(CLI::Range(1U, 1024U))
        ->option_text("N");
    e.add_flag("--own-connections", ctl_.own_connections, "A connection for each stream");
  }

  void add_ctl_certificates(CLI::App& c) {
    CLI::App& made = ctl_action(c, "make-certificates", Ctl::make_certificates,
                                "An authority and certificates for daemon, operator, scheduler, viewer and jobs, for "
                                "trials; again with other options: more from the same authority",
                                "DIR", "Directory to write to");
    made.add_option("--host", ctl_.hosts, "Name or address of the daemon; may be repeated (default: localhost)")
        ->option_text("HOST")
        ->allow_extra_args(false);
    made.add_option("--job", ctl_.cert_jobs, "A node agent's certificate for this job; may be repeated")
        ->option_text("NAME")
        ->allow_extra_args(false);
    made.add_option("--ranks", ctl_.ranks, "Of each --job: one more for each of N ranks")->option_text("N");
    made.add_option("--days", ctl_.days, "How long they hold (default: 30)")
        ->check(CLI::Range(1U, 3650U))
        ->option_text("N");
  }

  void add_netconf_bridge() {
    CLI::App& c = command("netconf-bridge",
                          "Copy bytes between standard input and output and a port: the subsystem of an sshd in front "
                          "of emulate-ocs",
                          "Example, a line of sshd_config:\n"
                          "  Subsystem netconf \"/usr/bin/photonrail netconf-bridge --connect 127.0.0.1:8300\"",
                          netconf_bridge_);
    c.add_option("--connect", netconf_bridge_.connect, "Where the emulated switch listens")
        ->required()
        ->option_text("HOST:PORT");
  }

  static void add_json(CLI::App& c, bool& value) {
    static const std::map<std::string, bool> kForms = {{"text", false}, {"json", true}};
    c.add_option("--format", value, "text or json (default: text)")
        ->transform(CLI::CheckedTransformer(kForms))
        ->option_text("text|json");
  }

  void add_replay() {
    CLI::App& c = command("replay",
                          "The journal of photonraild, record by record, and the state that it leads to, with its "
                          "digest. Reads only; the daemon may run",
                          "Examples:\n"
                          "  photonrail replay /var/lib/photonraild\n"
                          "  photonrail replay state --to 1000 --format json\n"
                          "  photonrail replay --etcd 10.0.0.1:2379 --etcd 10.0.0.2:2379\n"
                          "Records of a snapshot come first and count from 1.",
                          replay_);
    c.add_option("DIR", replay_.directory, "State directory of the daemon")->option_text(" ");
    c.add_option("--etcd", replay_.endpoints, "Or: a member of the etcd cluster that keeps it; may be repeated")
        ->option_text("HOST:PORT")
        ->allow_extra_args(false);
    c.add_option("--prefix", replay_.prefix, "etcd: what the keys begin with (default: /photonrail)")
        ->option_text("TEXT");
    c.add_option("--certificate", replay_.certificate, "etcd: our certificate as a client (PEM)")->option_text("FILE");
    c.add_option("--key", replay_.key, "... its private key (PEM)")->option_text("FILE");
    c.add_option("--authority", replay_.authority, "... who signs the members' certificates (PEM)")
        ->option_text("FILE");
    c.add_option("--to", replay_.to, "Only the first so many records")
        ->check(CLI::PositiveNumber)
        ->option_text("N");
    add_json(c, replay_.json);
  }

  void add_audit() {
    CLI::App& c = *app_.add_subcommand("audit", "Verify and show the audit log of photonraild");
    c.footer(
        "Examples:\n"
        "  photonrail audit verify state/audit.log\n"
        "  photonrail audit verify state/audit.log --head 5f1c...  lines were cut from its end if this one is gone\n"
        "  photonrail audit show state/audit.log --containing rail0:5 --limit 20");
    c.require_subcommand(1);
    const auto action = [&](const char* name, const char* about, AuditOptions::Action what) -> CLI::App& {
      CLI::App* added = c.add_subcommand(name, about);
      added->add_option("FILE", audit_.file, "The log: audit.log in the state directory")->required()->option_text(" ");
      add_json(*added, audit_.json);
      added->callback([this, what] {
        audit_.action = what;
        chosen_ = audit_;
      });
      return *added;
    };
    action("verify", "Does every line follow from the one before? Prints the head", AuditOptions::Action::verify)
        .add_option("--head", audit_.head, "A head that was noted before: it must be in the log")
        ->option_text("HASH");
    CLI::App& shown = action("show", "The records, oldest first, once all are verified", AuditOptions::Action::show);
    shown.add_option("--containing", audit_.text, "Only records with this text")->option_text("TEXT");
    shown.add_option("--limit", audit_.limit, "The last so many (default: all)")
        ->check(CLI::PositiveNumber)
        ->option_text("N");
  }

  void add_version() { command("version", "Version of this program", "", version_); }

  CLI::App& app_;
  std::optional<Command>& chosen_;
  SimulateOptions simulate_;
  WindowsOptions windows_;
  CostCommandOptions cost_;
  CatalogOptions catalog_;
  SchemaOptions schema_;
  ShowOptions show_;
  ExplainOptions explain_;
  ReproduceOptions reproduce_;
  ValidateOptions validate_;
  InferOptions infer_;
  EstimateCommandOptions estimate_;
  CheckOptions check_;
  EnergyOptions energy_;
  DlrmOptions dlrm_;
  EmulateOcsOptions emulate_ocs_;
  NetconfBridgeOptions netconf_bridge_;
  SensitivityOptions sensitivity_;
  CtlOptions ctl_;
  ReplayOptions replay_;
  AuditOptions audit_;
  VersionOptions version_;
};

// What to say of a first word that is no command; "" where it is one, or an option.
std::string unknown_command(const CLI::App& app, std::string_view word) {
  if (word.empty() || word.front() == '-') return "";
  std::vector<std::string> names;
  for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(known->get_name());
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  return fmt::format("unknown command '{}'{} (photonrail --help lists all)", word,
                     config::did_you_mean(word, {names.begin(), names.end()}));
}

}  // namespace

std::variant<Command, int> parse_command_line(int argc, const char* const* argv) {
  CLI::App app(kAbout, "photonrail");
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("photonrail ") + PHOTONRAIL_VERSION);
  std::optional<Command> chosen;
  Commands commands(app, chosen);
  commands.add_all();
  if (const std::string problem = unknown_command(app, argc > 1 ? argv[1] : ""); !problem.empty()) {
    print_error({ErrorCode::usage, problem});
    return static_cast<int>(kUsage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? static_cast<int>(kDone) : static_cast<int>(kUsage);
  }
  return *chosen;
}

}  // namespace photonrail::cli
