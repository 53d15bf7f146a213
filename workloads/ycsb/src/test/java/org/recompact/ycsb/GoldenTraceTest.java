package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.recompact.ycsb.TraceFile.Operation;

/**
 * The golden traces, which the driver's tests read too. After a wanted change write them anew with
 * {@code mvn test -Dtest=GoldenTraceTest -Dgolden.regenerate=true} and review the difference of
 * their JSON.
 */
class GoldenTraceTest {
  private static final Path RESOURCES = Path.of("src", "test", "resources");
  private static final List<String> NAMES = List.of("golden", "golden_latest");
  private static final Path TRACE = file("golden", "trace");

  @TempDir Path directory;

  @BeforeAll
  static void regenerateIfAsked() throws IOException {
    if (Boolean.getBoolean("golden.regenerate")) {
      for (String name : NAMES) {
        write(name, file(name, "trace"));
        Files.writeString(file(name, "json"), json(Trace.read(file(name, "trace"))));
      }
    }
  }

  static List<String> names() {
    return NAMES;
  }

  @ParameterizedTest
  @MethodSource("names")
  void readsBackExactly(String name) throws IOException {
    Trace trace = Trace.read(file(name, "trace"));
    assertEquals(new ObjectMapper().readTree(file(name, "json").toFile()), tree(trace));
  }

  @Test
  void togetherTheyHoldEveryOperation() throws IOException {
    Set<Operation> operations = EnumSet.noneOf(Operation.class);
    for (String name : NAMES) {
      Trace.read(file(name, "trace")).entries().forEach(entry -> operations.add(entry.operation()));
    }
    assertEquals(EnumSet.allOf(Operation.class), operations);
  }

  @ParameterizedTest
  @MethodSource("names")
  void isWrittenAgainByteForByte(String name) throws IOException {
    Path again = directory.resolve("again.trace");
    write(name, again);
    assertArrayEquals(Files.readAllBytes(file(name, "trace")), Files.readAllBytes(again));
  }

  @ParameterizedTest
  @MethodSource("names")
  void namesItsSpecification(String name) throws Exception {
    byte[] workload = Files.readAllBytes(file(name, "workload.json"));
    byte[] sha256 = MessageDigest.getInstance("SHA-256").digest(workload);
    String hash = HexFormat.of().formatHex(Arrays.copyOf(sha256, 16));
    assertEquals(hash, Trace.read(file(name, "trace")).specificationHash());
  }

  @ParameterizedTest
  @CsvSource({
    "0, bad magic",
    "8, header checksum",
    "43, header checksum",
    "44, header checksum",
    "64, checksum",
    "-1, checksum"
  })
  void aChangedByteIsFound(int offset, String problem) throws IOException {
    byte[] bytes = Files.readAllBytes(TRACE);
    bytes[Math.floorMod(offset, bytes.length)] ^= 1;
    assertUnreadable(bytes, problem);
  }

  @ParameterizedTest
  @CsvSource({"0", "63", "64", "-1", "-16"})
  void aMissingEndIsFound(int length) throws IOException {
    byte[] bytes = Files.readAllBytes(TRACE);
    int kept = length < 0 ? bytes.length + length : length;
    assertUnreadable(Arrays.copyOf(bytes, kept), "truncated");
  }

  private void assertUnreadable(byte[] bytes, String problem) throws IOException {
    Path damaged = Files.write(directory.resolve("damaged.trace"), bytes);
    IOException error = assertThrows(IOException.class, () -> Trace.read(damaged));
    assertTrue(error.getMessage().startsWith(damaged.toString()), error.getMessage());
    assertTrue(error.getMessage().contains(problem), error.getMessage());
  }

  private static Path file(String name, String ending) {
    return RESOURCES.resolve(name + "." + ending);
  }

  private static void write(String name, Path file) {
    int status =
        TraceWriter.execute(
            "--spec",
            file(name, "workload.json").toString(),
            "--phase",
            "run",
            "--seed",
            "1",
            "--out",
            file.toString());
    assertEquals(0, status);
  }

  private static JsonNode tree(Trace trace) throws IOException {
    return new ObjectMapper().readTree(json(trace));
  }

  private static String json(Trace trace) {
    String entries =
        trace.entries().stream()
            .map(
                entry ->
                    String.format(
                        "    {\"op\": \"%s\", \"key_number\": %d, \"length\": %d}",
                        entry.operation().name().toLowerCase(Locale.ROOT),
                        entry.keyNumber(),
                        entry.length()))
            .collect(Collectors.joining(",\n"));
    return String.format(
        "{\n  \"seed\": %s,\n  \"key_count\": %d,\n  \"specification_hash\": \"%s\",\n"
            + "  \"records\": [\n%s\n  ]\n}\n",
        Long.toUnsignedString(trace.seed()), trace.keyCount(), trace.specificationHash(), entries);
  }
}
