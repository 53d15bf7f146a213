# Upstream's tests and db_bench, built from outside its CMakeLists.txt.
enable_testing()
find_package(GTest REQUIRED)
find_library(GMOCK_LIBRARY gmock REQUIRED)
find_package(benchmark REQUIRED)

file(GLOB upstream_tests CONFIGURE_DEPENDS
  "${LEVELDB_SOURCE}/db/*_test.c" "${LEVELDB_SOURCE}/db/*_test.cc"
  "${LEVELDB_SOURCE}/helpers/memenv/*_test.cc"
  "${LEVELDB_SOURCE}/issues/*_test.cc" "${LEVELDB_SOURCE}/table/*_test.cc"
  "${LEVELDB_SOURCE}/util/*_test.cc")
list(FILTER upstream_tests EXCLUDE REGEX "env_windows_test")

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

foreach(source IN LISTS upstream_tests)
  get_filename_component(name "${source}" NAME_WE)
  add_upstream_executable(${name} "${source}")
  add_test(NAME upstream.${name} COMMAND ${name})
endforeach()

# One of upstream's tests races with its own background thread, on the release
# as well: FillLevels leaves more files in L0 than start a compaction, and the
# next line but some asserts that L0 is not empty. It passes when the compaction
# comes late, so it alone may be tried again.
set(racing DBTest.HiddenValuesAreRemoved)
set_tests_properties(upstream.db_test PROPERTIES
  ENVIRONMENT "GTEST_FILTER=-${racing}")
add_test(NAME upstream.${racing} COMMAND sh -c
  "for try in $(seq 50); do \"$0\" --gtest_filter=${racing} && exit 0; done; exit 1"
  $<TARGET_FILE:db_test>)
# Both use the same scratch directory.
set_tests_properties(upstream.db_test upstream.${racing} PROPERTIES
  RESOURCE_LOCK db_test_directory)

add_upstream_executable(db_bench "${LEVELDB_SOURCE}/benchmarks/db_bench.cc"
  "${LEVELDB_SOURCE}/util/histogram.cc")
