#include "config/write.h"

#include <fmt/format.h>

namespace photonrail::config {
namespace {

constexpr std::size_t kCommentColumn = 44;

bool is_bare_key(std::string_view key) {
  for (const char c : key) {
    const bool bare =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!bare) return false;
  }
  return !key.empty();
}

// The table's plain form, or nothing when other members than the plain one differ from their defaults.
std::string plain_text(TableValue& table, Notation notation) {
  Fields fields = table.fields();
  if (fields.plain() == nullptr) return {};
  const std::unique_ptr<TableValue> fresh = table.fresh();
  Fields defaults = fresh->fields();
  for (std::size_t i = 0; i < fields.all().size(); ++i) {
    Fields::Field& field = fields.all()[i];
    if (field.name == fields.plain()->name) continue;
    if (inline_text(*field.value, notation) != inline_text(*defaults.all()[i].value, notation)) return {};
  }
  return inline_text(*fields.plain()->value, notation);
}

// Members that equal their default are left out.
std::string table_text(TableValue& table, Notation notation) {
  if (std::string plain = plain_text(table, notation); !plain.empty()) return plain;
  std::string out;
  Fields fields = table.fields();
  const std::unique_ptr<TableValue> fresh = table.fresh();
  Fields defaults = fresh->fields();
  for (std::size_t i = 0; i < fields.all().size(); ++i) {
    Fields::Field& field = fields.all()[i];
    const std::string text = inline_text(*field.value, notation);
    const bool is_default = text == inline_text(*defaults.all()[i].value, notation);
    if (text.empty() || (is_default && !field.meta.required)) continue;
    out += out.empty() ? "{" : ", ";
    if (notation == Notation::toml && out == "{") out += ' ';
    out += notation == Notation::toml ? fmt::format("{} = {}", key_text(field.name), text)
                                      : fmt::format("{}: {}", quoted(field.name), text);
  }
  return out.empty() ? "{}" : out + (notation == Notation::toml ? " }" : "}");
}

std::string list_text(ListValue& list, Notation notation) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    out += inline_text(*list.at(i), notation);
  }
  return out + "]";
}

struct Writer {
  const Comment& comment;
  std::string out;

  void line(const Fields::Field& field, const std::string& path);
  void fields(TableValue& table, const std::string& path);
  void section(Value& value, const std::string& name, const std::string& path);
};

void Writer::line(const Fields::Field& field, const std::string& path) {
  const std::string text = inline_text(*field.value, Notation::toml);
  if (text.empty()) {
    out += fmt::format("# {} is not given: {}\n", field.name, field.meta.absent.empty() ? "none" : field.meta.absent);
    return;
  }
  std::string whole = fmt::format("{} = {}", key_text(field.name), text);
  const std::string behind = comment ? comment(path) : std::string();
  if (!behind.empty()) {
    if (whole.size() < kCommentColumn) whole.append(kCommentColumn - whole.size(), ' ');
    whole += "  # " + behind;
  }
  out += whole + "\n";
}

void Writer::fields(TableValue& table, const std::string& path) {
  Fields all = table.fields();
  // Plain values first: in TOML they would otherwise belong to the table before them.
  for (Fields::Field& field : all.all()) {
    if (is_inline(*field.value)) line(field, join_path(path, field.name));
  }
  for (Fields::Field& field : all.all()) {
    if (!is_inline(*field.value))
      section(*field.value, join_path(path, key_text(field.name)), join_path(path, field.name));
  }
}

// `name` is the path as written in a header; `path` the one by which places are known.
void Writer::section(Value& value, const std::string& name, const std::string& path) {
  if (value.form() == Form::optional) {
    auto& optional = static_cast<OptionalValue&>(value);
    if (optional.has_value()) section(*optional.inner(), name, path);
  } else if (value.form() == Form::list) {
    auto& list = static_cast<ListValue&>(value);
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += fmt::format("\n[[{}]]\n", name);
      fields(static_cast<TableValue&>(*list.at(i)), fmt::format("{}[{}]", path, i));
    }
  } else if (value.form() == Form::map) {
    auto& map = static_cast<MapValue&>(value);
    for (const std::string& key : map.keys()) {
      const std::unique_ptr<Value> element = map.at(key);
      if (element->form() == Form::table) {
        section(*element, join_path(name, key_text(key)), join_path(path, key));
      } else {
        if (key == map.keys().front()) out += fmt::format("\n[{}]\n", name);
        out += fmt::format("{} = {}\n", key_text(key), inline_text(*element, Notation::toml));
      }
    }
  } else {
    out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", name);
    fields(static_cast<TableValue&>(value), path);
  }
}

void canonical(Value& value, const std::string& path, std::string& out) {
  switch (value.form()) {
    case Form::leaf: out += fmt::format("{} = {}\n", path, static_cast<LeafValue&>(value).toml()); return;
    case Form::optional: {
      auto& optional = static_cast<OptionalValue&>(value);
      if (optional.has_value()) canonical(*optional.inner(), path, out);
      return;
    }
    case Form::list: {
      auto& list = static_cast<ListValue&>(value);
      for (std::size_t i = 0; i < list.size(); ++i) canonical(*list.at(i), fmt::format("{}[{}]", path, i), out);
      return;
    }
    case Form::map: {
      auto& map = static_cast<MapValue&>(value);
      for (const std::string& key : map.keys()) canonical(*map.at(key), join_path(path, key_text(key)), out);
      return;
    }
    case Form::table: {
      Fields fields = static_cast<TableValue&>(value).fields();
      for (Fields::Field& field : fields.all()) canonical(*field.value, join_path(path, field.name), out);
      return;
    }
  }
}

}  // namespace

bool is_inline(Value& value) {
  switch (value.form()) {
    case Form::leaf: return true;
    case Form::optional: return is_inline(*static_cast<OptionalValue&>(value).inner());
    case Form::list: return is_inline(*static_cast<ListValue&>(value).element());
    case Form::map: return false;
    case Form::table: {
      Fields fields = static_cast<TableValue&>(value).fields();
      return fields.plain() != nullptr;
    }
  }
  return false;
}

std::string inline_text(Value& value, Notation notation) {
  switch (value.form()) {
    case Form::leaf: return static_cast<LeafValue&>(value).toml();
    case Form::optional: {
      auto& optional = static_cast<OptionalValue&>(value);
      return optional.has_value() ? inline_text(*optional.inner(), notation) : std::string();
    }
    case Form::list: return list_text(static_cast<ListValue&>(value), notation);
    case Form::map: return {};
    case Form::table: return table_text(static_cast<TableValue&>(value), notation);
  }
  return {};
}

std::string key_text(std::string_view key) { return is_bare_key(key) ? std::string(key) : quoted(key); }

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string write_toml(TableValue& root, const Comment& comment) {
  Writer writer{comment, {}};
  writer.fields(root, "");
  return std::move(writer.out);
}

std::string write_canonical(TableValue& root) {
  std::string out;
  canonical(root, "", out);
  return out;
}

}  // namespace photonrail::config
