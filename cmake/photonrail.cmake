# Flags shared by every target, and the one function that makes a folder a target.

# Results must not depend on compiler or optimisation level: no fused multiply-add, no relaxed floating point.
add_library(photonrail_flags INTERFACE)
target_compile_options(photonrail_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that it marks as deprecated itself.
  target_compile_options(photonrail_flags INTERFACE -Wno-deprecated-declarations)
endif()
target_include_directories(photonrail_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(photonrail_flags INTERFACE fmt::fmt tl::expected)

set(PHOTONRAIL_SANITIZE "" CACHE STRING "Sanitizers for every target, for example address,undefined")
if(PHOTONRAIL_SANITIZE)
  target_compile_options(photonrail_flags INTERFACE
    -fsanitize=${PHOTONRAIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(photonrail_flags INTERFACE -fsanitize=${PHOTONRAIL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code confuses this warning (in std::regex, for one); the release build keeps it.
    target_compile_options(photonrail_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# For the fuzzers of tests/fuzz: every target gets the coverage that libFuzzer needs (clang only).
option(PHOTONRAIL_FUZZ "Build the fuzzers" OFF)
if(PHOTONRAIL_FUZZ)
  target_compile_options(photonrail_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# photonrail_module(name DEPS module... PRIVATE library...)
# One folder is one target: every *.cc beside the CMakeLists.txt is compiled into photonrail_<name>, and every
# *_test.cc into <name>_test. DEPS are modules that this one may include; tests/dependencies checks the direction.
function(photonrail_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND photonrail_)
  if(sources)
    add_library(photonrail_${name} STATIC ${sources})
    target_link_libraries(photonrail_${name} PUBLIC photonrail_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(photonrail_${name} INTERFACE)
    target_link_libraries(photonrail_${name} INTERFACE photonrail_flags ${ARG_DEPS})
  endif()
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE photonrail_${name} ${ARG_PRIVATE} GTest::gtest_main rapidcheck)
    target_compile_definitions(${name}_test PRIVATE PHOTONRAIL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Compiling tests takes a third less time so; what they test is compiled as everywhere else.
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120)
  endif()
endfunction()

include(GoogleTest)
