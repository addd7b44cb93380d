# Writes OUTPUT: a C++ file with every calibration table (FILES, separated by |) as a raw string. Run with cmake -P.
string(REPLACE "|" ";" files "${FILES}")
file(WRITE "${OUTPUT}"
  "// Generated from calibration/*.csv by src/operators/embed.cmake.\n#include \"operators/embedded.h\"\n\n"
  "namespace photonrail::operators {\n\nstd::span<const catalog::EmbeddedFile> embedded_files() {\n"
  "  static const catalog::EmbeddedFile kFiles[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" content)
  if(content MATCHES "\\)csv\"")
    message(FATAL_ERROR "${file}: holds the end mark of a raw string")
  endif()
  file(APPEND "${OUTPUT}" "      {\"${name}\", R\"csv(${content})csv\"},\n")
endforeach()
file(APPEND "${OUTPUT}" "  };\n  return kFiles;\n}\n\n}  // namespace photonrail::operators\n")
