#include "config/read.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace photonrail::config {
namespace {

struct KnownKey {
  std::string table;  // path of the table that holds it
  std::string_view name;
};

struct Reader {
  Diagnostics& diagnostics;
  Places& places;
  bool incomplete = false;           // the text has lines that were not understood: what seems missing may stand there
  std::vector<KnownKey> known = {};  // every key of every table, for hints

  void value(Value& target, const Node& node, Span key, const Meta& meta, const std::string& path);
  void leaf(LeafValue& target, const Node& node, const Meta& meta);
  void table(TableValue& target, const Node& node, Span key, const std::string& path);
  void list(ListValue& target, const Node& node, const Meta& meta, const std::string& path);
  void map(MapValue& target, const Node& node, const Meta& meta, const std::string& path);
  void unknown_key(const Member& member, Fields& fields, const std::string& path);
  void check_limits(const LeafValue& target, const Node& node, const Meta& meta);
};

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string in_table(const std::string& path) {
  return path.empty() ? "at the top level" : fmt::format("in [{}]", path);
}

// Tables inside lists and maps are left out: their path has no fixed name.
void collect_keys(Fields& fields, const std::string& path, std::vector<KnownKey>& known) {
  for (Fields::Field& field : fields.all()) {
    known.push_back({path, field.name});
    if (field.value->form() != Form::table) continue;
    Fields inner = static_cast<TableValue&>(*field.value).fields();
    collect_keys(inner, join(path, field.name), known);
  }
}

void Reader::unknown_key(const Member& member, Fields& fields, const std::string& path) {
  std::string hint;
  std::vector<std::string_view> names;
  for (const Fields::Field& field : fields.all()) {
    if (!diagnostics.full()) names.push_back(field.name);
  }
  const std::string_view near = nearest(member.key, names);
  if (!near.empty()) hint = fmt::format("did you mean \"{}\"?", near);
  for (const KnownKey& other : known) {
    if (!hint.empty() || diagnostics.full()) break;
    if (other.name == member.key) hint = fmt::format("\"{}\" belongs {}", member.key, in_table(other.table));
  }
  if (hint.empty()) {
    for (const std::string_view name : names) hint += fmt::format("{}{}", hint.empty() ? "known keys: " : ", ", name);
  }
  const bool is_table = member.value.kind == Node::Kind::table;
  diagnostics.error(member.key_span,
                    fmt::format("unknown {} \"{}\" {}", is_table ? "table" : "key", member.key, in_table(path)), hint);
}

void Reader::check_limits(const LeafValue& target, const Node& node, const Meta& meta) {
  const std::optional<double> measure = target.measure();
  if (!measure) return;
  const bool physical = target.kind() == LeafKind::quantity;
  const std::optional<double> min = meta.min || meta.above || !physical ? meta.min : std::optional<double>(0);
  std::string rule;
  if (min && *measure < *min) rule = fmt::format("at least {}", target.limit_text(*min));
  if (meta.above && *measure <= *meta.above) rule = fmt::format("more than {}", target.limit_text(*meta.above));
  if (meta.max && *measure > *meta.max) rule = fmt::format("at most {}", target.limit_text(*meta.max));
  if (!rule.empty())
    diagnostics.error(node.span, fmt::format("{} is out of range; it must be {}", target.toml(), rule));
}

void Reader::leaf(LeafValue& target, const Node& node, const Meta& meta) {
  std::string problem = target.assign(node);
  if (problem.empty() && !meta.choices.empty() && node.kind == Node::Kind::string) {
    std::vector<LeafValue::Choice> choices;
    for (const std::string_view choice : meta.choices) choices.push_back({choice, {}});
    std::size_t index = 0;
    problem = assign_choice(node, choices, index);
  }
  if (!problem.empty()) {
    diagnostics.error(node.span, std::move(problem));
    return;
  }
  check_limits(target, node, meta);
}

void Reader::table(TableValue& target, const Node& node, Span key, const std::string& path) {
  Fields fields = target.fields();
  if (Fields::Field* plain = fields.plain()) {
    target.reset();
    if (node.kind != Node::Kind::table) {
      value(*plain->value, node, key, plain->meta, path);
      return;
    }
  }
  if (node.kind != Node::Kind::table) {
    diagnostics.error(node.span, fmt::format("a table is wanted, not {}", name_of(node.kind)),
                      fmt::format("write [{}] and its keys below it", path));
    return;
  }
  for (const Member& member : node.members) {
    Fields::Field* field = fields.find(member.key);
    if (field == nullptr) {
      unknown_key(member, fields, path);
    } else {
      value(*field->value, member.value, member.key_span, field->meta, join(path, field->name));
    }
  }
  for (const Fields::Field& field : fields.all()) {
    if (!field.meta.required || incomplete || node.find(field.name) != nullptr) continue;
    diagnostics.error(node.span, fmt::format("missing key \"{}\" {}", field.name, in_table(path)),
                      std::string(field.meta.doc));
  }
}

// On the command line a list may be written without brackets and quotes: --set switching.times=10 ms,20 ms
Node split(const Node& node) {
  Node array = node;
  array.kind = Node::Kind::array;
  for (std::size_t start = 0; start <= node.text.size();) {
    const std::size_t end = std::min(node.text.find(',', start), node.text.size());
    Node item = node;
    item.text = node.text.substr(start, end - start);
    while (!item.text.empty() && item.text.front() == ' ') item.text.erase(0, 1);
    while (!item.text.empty() && item.text.back() == ' ') item.text.pop_back();
    array.items.push_back(std::move(item));
    start = end + 1;
  }
  return array;
}

void Reader::list(ListValue& target, const Node& node, const Meta& meta, const std::string& path) {
  if (node.from_option && node.kind == Node::Kind::string) {
    list(target, split(node), meta, path);
    return;
  }
  if (node.kind != Node::Kind::array) {
    diagnostics.error(node.span, fmt::format("a list in brackets is wanted, not {}", name_of(node.kind)));
    return;
  }
  if (node.items.size() > meta.items_max) {
    diagnostics.error(node.span, fmt::format("{} items; the limit is {}", node.items.size(), meta.items_max));
    return;
  }
  target.clear();
  for (const Node& item : node.items) {
    const std::unique_ptr<Value> element = target.append();
    value(*element, item, item.span, meta, fmt::format("{}[{}]", path, target.size() - 1));
  }
}

void Reader::map(MapValue& target, const Node& node, const Meta& meta, const std::string& path) {
  if (node.kind != Node::Kind::table) {
    diagnostics.error(node.span, fmt::format("a table of names is wanted, not {}", name_of(node.kind)));
    return;
  }
  if (node.members.size() > meta.items_max) {
    diagnostics.error(node.span, fmt::format("{} entries; the limit is {}", node.members.size(), meta.items_max));
    return;
  }
  for (const Member& member : node.members) {
    const std::unique_ptr<Value> element = target.at(member.key);
    value(*element, member.value, member.key_span, meta, join(path, member.key));
  }
}

void Reader::value(Value& target, const Node& node, Span key, const Meta& meta, const std::string& path) {
  places[path] = {key, node.span};
  switch (target.form()) {
    case Form::leaf: return leaf(static_cast<LeafValue&>(target), node, meta);
    case Form::table: return table(static_cast<TableValue&>(target), node, key, path);
    case Form::list: return list(static_cast<ListValue&>(target), node, meta, path);
    case Form::map: return map(static_cast<MapValue&>(target), node, meta, path);
    case Form::optional: {
      const std::unique_ptr<Value> inner = static_cast<OptionalValue&>(target).emplace();
      return value(*inner, node, key, meta, path);
    }
  }
}

}  // namespace

void read_table(TableValue& root, const Node& node, Diagnostics& diagnostics, Places& places) {
  Reader reader{diagnostics, places, node.incomplete};
  Fields fields = root.fields();
  collect_keys(fields, "", reader.known);
  reader.table(root, node, node.span, "");
}

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kFileMax = (std::size_t{4} << 20) + 1;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fail(ErrorCode::io, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  std::string text(kFileMax, '\0');
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  const int read_error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (read_error != 0)
    return fail(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, std::strerror(read_error)));
  if (size == kFileMax) return fail(ErrorCode::invalid_input, fmt::format("{}: more than 4 MiB", path));
  text.resize(size);
  return text;
}

}  // namespace photonrail::config
