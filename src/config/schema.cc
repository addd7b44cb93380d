// JSON Schema and reference page.
#include <fmt/format.h>

#include "config/write.h"

namespace photonrail::config {
namespace {

// Compact JSON objects are built as text and laid out at the end: nothing here needs a tree.
class JsonObject {
 public:
  void add(std::string_view key, std::string_view json) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "{" : ", ", quoted(key), json);
  }
  std::string text() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

// Compact JSON laid out with two spaces per level; lists stay on one line.
std::string lay_out(std::string_view json) {
  std::string out;
  std::string indent = "\n";
  int brackets = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text || c == '"') {
      out += c;
      if (in_text && c == '\\')
        out += json[++i];
      else if (c == '"')
        in_text = !in_text;
      continue;
    }
    if (c == '[') ++brackets;
    if (c == ']') --brackets;
    const bool empty = (c == '{' && json[i + 1] == '}') || (c == '}' && json[i - 1] == '{');
    if (brackets > 0 || c == ']' || empty) {
      out += c;
    } else if (c == '{') {
      indent += "  ";
      out += c + indent;
    } else if (c == '}') {
      indent.resize(indent.size() - 2);
      out += indent + c;
    } else if (c == ',') {
      out += c + indent;
      if (json[i + 1] == ' ') ++i;
    } else {
      out += c;
    }
  }
  return out + "\n";
}

std::string any_of(const std::string& a, const std::string& b) { return fmt::format("[{}, {}]", a, b); }

constexpr std::string_view kNumberPattern = R"([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)";

std::string quantity_pattern(Quantity quantity) {
  std::string units;
  for (const std::string& unit : unit_names(quantity)) units += (units.empty() ? "" : "|") + unit;
  std::string pattern = fmt::format(R"(^ *({} *({})|[+-]?0+(\.0*)?) *$)", kNumberPattern, units);
  if (quantity == Quantity::money) pattern += R"(|^ *-?\$[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?[kKMBG]? *$)";
  return quoted(pattern);
}

void add_limits(JsonObject& json, const Meta& meta) {
  if (meta.min) json.add("minimum", fmt::format("{}", *meta.min));
  if (meta.above) json.add("exclusiveMinimum", fmt::format("{}", *meta.above));
  if (meta.max) json.add("maximum", fmt::format("{}", *meta.max));
}

std::string text_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted(text);
  return "[" + out + "]";
}

std::vector<std::string> choice_names(const LeafValue& leaf, const Meta& meta) {
  std::vector<std::string> names;
  for (const LeafValue::Choice& choice : leaf.choices()) names.emplace_back(choice.name);
  for (const std::string_view choice : meta.choices) names.emplace_back(choice);
  return names;
}

void add_leaf(JsonObject& json, const LeafValue& leaf, const Meta& meta) {
  switch (leaf.kind()) {
    case LeafKind::boolean: json.add("type", "\"boolean\""); return;
    case LeafKind::integer: json.add("type", "\"integer\""); return add_limits(json, meta);
    case LeafKind::number: {
      JsonObject number, percent;
      number.add("type", "\"number\"");
      add_limits(number, meta);
      percent.add("type", "\"string\"");
      percent.add("pattern", quantity_pattern(Quantity::ratio));
      json.add("anyOf", any_of(number.text(), percent.text()));
      return;
    }
    case LeafKind::text:
      json.add("type", "\"string\"");
      if (!meta.choices.empty()) json.add("enum", text_list(choice_names(leaf, meta)));
      return;
    case LeafKind::choice: json.add("enum", text_list(choice_names(leaf, meta))); return;
    case LeafKind::quantity: {
      JsonObject text;
      text.add("type", "\"string\"");
      text.add("pattern", quantity_pattern(leaf.quantity()));
      json.add("anyOf", any_of(text.text(), R"({"const": 0})"));
      return;
    }
  }
}

void add_value(JsonObject& json, Value& value, const Meta& meta);

std::string value_schema(Value& value, const Meta& meta) {
  JsonObject json;
  add_value(json, value, meta);
  return json.text();
}

void add_members(JsonObject& json, Fields& fields) {
  JsonObject properties;
  std::vector<std::string> required;
  for (Fields::Field& field : fields.all()) {
    JsonObject member;
    if (!field.meta.doc.empty()) member.add("description", quoted(field.meta.doc));
    add_value(member, *field.value, field.meta);
    const std::string text = is_inline(*field.value) ? inline_text(*field.value, Notation::json) : std::string();
    if (!field.meta.required && !text.empty()) member.add("default", text);
    properties.add(field.name, member.text());
    if (field.meta.required) required.emplace_back(field.name);
  }
  json.add("type", "\"object\"");
  json.add("properties", properties.text());
  if (!required.empty()) json.add("required", text_list(required));
  json.add("additionalProperties", "false");
}

void add_table(JsonObject& json, TableValue& table) {
  Fields fields = table.fields();
  if (fields.plain() == nullptr) return add_members(json, fields);
  JsonObject object;
  add_members(object, fields);
  json.add("anyOf", any_of(value_schema(*fields.plain()->value, fields.plain()->meta), object.text()));
}

void add_value(JsonObject& json, Value& value, const Meta& meta) {
  switch (value.form()) {
    case Form::leaf: return add_leaf(json, static_cast<LeafValue&>(value), meta);
    case Form::table: return add_table(json, static_cast<TableValue&>(value));
    case Form::optional: return add_value(json, *static_cast<OptionalValue&>(value).inner(), meta);
    case Form::list:
      json.add("type", "\"array\"");
      json.add("items", value_schema(*static_cast<ListValue&>(value).element(), meta));
      json.add("maxItems", std::to_string(meta.items_max));
      return;
    case Form::map:
      json.add("type", "\"object\"");
      json.add("additionalProperties", value_schema(*static_cast<MapValue&>(value).element(), meta));
      json.add("maxProperties", std::to_string(meta.items_max));
      return;
  }
}

// ---- reference page -------------------------------------------------------------------------------------------------

struct Reference {
  std::string sections;
  std::string table_forms;  // tables that are usually written as a plain value, each once

  std::string type(Value& value);
  std::string row(Fields::Field& field);
  std::string rows(Fields& fields);
  void section(Value& value, const Meta& meta, const std::string& path);
};

constexpr std::string_view kHead = "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n";

std::string leaf_type(const LeafValue& leaf) {
  switch (leaf.kind()) {
    case LeafKind::boolean: return "true or false";
    case LeafKind::integer: return "integer";
    case LeafKind::number: return "number or percentage";
    case LeafKind::text: return "text";
    case LeafKind::choice: return "one of";
    case LeafKind::quantity: {
      const std::string_view name = name_of(leaf.quantity());
      return std::string(name.substr(name.find(' ') + 1));
    }
  }
  return {};
}

std::string Reference::type(Value& value) {
  switch (value.form()) {
    case Form::leaf: return leaf_type(static_cast<LeafValue&>(value));
    case Form::optional: return type(*static_cast<OptionalValue&>(value).inner());
    case Form::list: return "list of: " + type(*static_cast<ListValue&>(value).element());
    case Form::map: return "table of: " + type(*static_cast<MapValue&>(value).element());
    case Form::table: break;
  }
  Fields fields = static_cast<TableValue&>(value).fields();
  if (fields.plain() == nullptr) return "table";
  std::string names;
  for (const Fields::Field& field : fields.all()) names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  const std::string heading = fmt::format("{} as a table: {}", type(*fields.plain()->value), names);
  if (table_forms.find("### " + heading) == std::string::npos) {
    const std::unique_ptr<TableValue> fresh = static_cast<TableValue&>(value).fresh();
    Fields defaults = fresh->fields();
    table_forms += fmt::format("\n### {}\n\n{}{}", heading, kHead, rows(defaults));
  }
  return fmt::format("{}, or a table of {}", type(*fields.plain()->value), names);
}

// The leaf inside lists and optionals. `keep` holds what it is bound to.
LeafValue* innermost_leaf(Value& value, std::vector<std::unique_ptr<Value>>& keep) {
  Value* at = &value;
  while (at->form() == Form::optional || at->form() == Form::list) {
    keep.push_back(at->form() == Form::optional ? static_cast<OptionalValue*>(at)->inner()
                                                : static_cast<ListValue*>(at)->element());
    at = keep.back().get();
  }
  return at->form() == Form::leaf ? static_cast<LeafValue*>(at) : nullptr;
}

std::string allowed(Value& value, const Meta& meta) {
  std::vector<std::unique_ptr<Value>> keep;
  const LeafValue* leaf = innermost_leaf(value, keep);
  if (leaf == nullptr) return {};
  std::vector<std::string> rules;
  for (const LeafValue::Choice& choice : leaf->choices()) {
    rules.push_back(choice.doc.empty() ? fmt::format("`{}`", choice.name)
                                       : fmt::format("`{}` ({})", choice.name, choice.doc));
  }
  for (const std::string_view choice : meta.choices) rules.push_back(fmt::format("`{}`", choice));
  if (meta.min) rules.push_back("at least " + leaf->limit_text(*meta.min));
  if (meta.above) rules.push_back("more than " + leaf->limit_text(*meta.above));
  if (meta.max) rules.push_back("at most " + leaf->limit_text(*meta.max));
  std::string out;
  for (const std::string& rule : rules) out += (out.empty() ? "" : ", ") + rule;
  return out;
}

std::string default_text(Fields::Field& field) {
  if (field.meta.required) return "required";
  const std::string text = inline_text(*field.value, Notation::toml);
  if (text.empty()) return std::string(field.meta.absent.empty() ? "none" : field.meta.absent);
  return fmt::format("`{}`", text);
}

std::string Reference::row(Fields::Field& field) {
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", field.name, type(*field.value), default_text(field),
                     allowed(*field.value, field.meta), field.meta.doc);
}

std::string Reference::rows(Fields& fields) {
  std::string out;
  for (Fields::Field& field : fields.all()) {
    if (is_inline(*field.value)) out += row(field);
  }
  return out;
}

void Reference::section(Value& value, const Meta& meta, const std::string& path) {
  switch (value.form()) {
    case Form::leaf: return;
    case Form::optional: return section(*static_cast<OptionalValue&>(value).inner(), meta, path);
    case Form::list: return section(*static_cast<ListValue&>(value).element(), meta, path + "[]");
    case Form::map: return section(*static_cast<MapValue&>(value).element(), meta, join_path(path, "NAME"));
    case Form::table: break;
  }
  Fields fields = static_cast<TableValue&>(value).fields();
  const std::string keys = rows(fields);
  sections += path.empty() ? "\n## Top level\n" : fmt::format("\n## [{}]\n", path);
  if (!meta.doc.empty()) sections += fmt::format("\n{}\n", meta.doc);
  if (!keys.empty()) sections += fmt::format("\n{}{}", kHead, keys);
  for (Fields::Field& field : fields.all()) {
    if (!is_inline(*field.value)) section(*field.value, field.meta, join_path(path, field.name));
  }
}

}  // namespace

std::string write_schema(TableValue& root, std::string_view title, std::string_view description) {
  JsonObject json;
  json.add("$schema", quoted("https://json-schema.org/draft/2020-12/schema"));
  json.add("title", quoted(title));
  json.add("description", quoted(description));
  add_table(json, root);
  return lay_out(json.text());
}

std::string write_reference(TableValue& root, std::string_view title, std::string_view introduction) {
  Reference reference;
  reference.section(root, {}, "");
  std::string out = fmt::format("# {}\n\n{}\n{}", title, introduction, reference.sections);
  if (!reference.table_forms.empty()) out += "\n## Values with a table form\n" + reference.table_forms;
  return out;
}

}  // namespace photonrail::config
