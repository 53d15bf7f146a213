# Upstream's tests and db_bench, built from outside its CMakeLists.txt, and the
# tests of the engine's own folders.
enable_testing()
find_package(GTest REQUIRED)
find_library(GMOCK_LIBRARY gmock REQUIRED)
find_package(benchmark REQUIRED)

function(add_upstream_executable name)
  add_executable(${name} ${ARGN} "${LEVELDB_SOURCE}/util/testutil.cc")
  target_include_directories(${name} PRIVATE
    "${LEVELDB_SOURCE}" "${CMAKE_BINARY_DIR}/leveldb/include")
  target_compile_definitions(${name} PRIVATE LEVELDB_PLATFORM_POSIX=1)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
  target_link_libraries(${name} leveldb ${GMOCK_LIBRARY} GTest::gtest
    benchmark::benchmark)
endfunction()

add_upstream_executable(db_bench "${LEVELDB_SOURCE}/benchmarks/db_bench.cc"
  "${LEVELDB_SOURCE}/util/histogram.cc")

# The release passes its own tests; a patched tree has to show that it does.
if(NOT ENGINE_SOURCES)
  return()
endif()

set(patterns "db/*_test.c" "db/*_test.cc" "helpers/memenv/*_test.cc"
  "issues/*_test.cc")
if(RECOMPACT_ALL_TESTS)
  list(APPEND patterns "table/*_test.cc" "util/*_test.cc")
endif()
list(TRANSFORM patterns PREPEND "${LEVELDB_SOURCE}/")
file(GLOB upstream_tests CONFIGURE_DEPENDS ${patterns})
list(FILTER upstream_tests EXCLUDE REGEX "env_windows_test")

# Two of upstream's tests race with their own background thread, on the release
# as well.  HiddenValuesAreRemoved: FillLevels leaves more files in L0 than start
# a compaction, and the next line but some asserts that L0 is not empty; it
# passes when the compaction comes late.  ReadHalf: reads of one half of the keys
# start compactions, which must leave the other half; it passes when the ones
# that the load started have ended before.  They alone may be tried again.
set(racing db_test/DBTest.HiddenValuesAreRemoved
  autocompact_test/AutoCompactTest.ReadHalf)
list(REMOVE_ITEM racing "" ${ENGINE_EXEMPT_TESTS})
# It runs for 40 seconds whatever the processor, so those of several engines run
# at the same time (`./repro test "timed tests"`).
set(timed db_test/DBTest.MultiThreaded)
list(REMOVE_ITEM timed "" ${ENGINE_EXEMPT_TESTS})
# PROGRAM/TEST; engines.yaml says why the others are left out.
foreach(apart IN LISTS racing timed ENGINE_EXEMPT_TESTS)
  string(REPLACE "/" ";" parts "${apart}")
  list(GET parts 0 program)
  list(GET parts 1 test)
  string(APPEND apart_of_${program} ":${test}")
endforeach()

# Each has a scratch directory of its own: tests of one program use the same
# names in it.  db_test would run its benchmarks first.
function(add_upstream_test name program command)
  add_test(NAME upstream.${name} COMMAND sh -c
    "TEST_TMPDIR=\"\${TEST_TMPDIR:-/tmp}/${name}\" && export TEST_TMPDIR &&
     export BENCHMARK_FILTER=none && mkdir -p \"$TEST_TMPDIR\" &&
     ${command}" $<TARGET_FILE:${program}>)
endfunction()

foreach(source IN LISTS upstream_tests)
  get_filename_component(program "${source}" NAME_WE)
  add_upstream_executable(${program} "${source}")
  add_upstream_test(${program} ${program} "exec \"$0\"")
  set_tests_properties(upstream.${program} PROPERTIES ENVIRONMENT
    "GTEST_FILTER=-${apart_of_${program}}")
endforeach()
foreach(apart IN LISTS racing)
  get_filename_component(program "${apart}" DIRECTORY)
  get_filename_component(test "${apart}" NAME)
  add_upstream_test(${test} ${program}
    "for try in $(seq 50); do \"$0\" --gtest_filter=${test} && exit 0; done; exit 1")
  # Beside another test the background thread hardly ever comes late.
  set_tests_properties(upstream.${test} PROPERTIES RUN_SERIAL ON)
endforeach()
foreach(apart IN LISTS timed)
  get_filename_component(program "${apart}" DIRECTORY)
  get_filename_component(test "${apart}" NAME)
  add_upstream_test(${test} ${program} "exec \"$0\" --gtest_filter=${test}")
  set_tests_properties(upstream.${test} PROPERTIES LABELS timed)
endforeach()

foreach(source IN LISTS ENGINE_SOURCES)
  get_filename_component(folder "${source}" DIRECTORY)
  file(GLOB tests CONFIGURE_DEPENDS
    "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cc")
  list(APPEND engine_tests ${tests})
endforeach()
list(REMOVE_DUPLICATES engine_tests)
foreach(source IN LISTS engine_tests)
  get_filename_component(name "${source}" NAME_WE)
  add_upstream_executable(${name} "${source}")
  target_link_libraries(${name} GTest::gtest_main)
  add_test(NAME engine.${name} COMMAND ${name})
endforeach()
