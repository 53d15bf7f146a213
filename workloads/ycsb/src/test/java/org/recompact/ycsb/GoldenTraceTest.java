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
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.recompact.ycsb.TraceFile.Operation;

/**
 * The golden trace, which the driver's and the pipeline's tests read too. After a wanted change
 * write it anew with {@code mvn test -Dtest=GoldenTraceTest -Dgolden.regenerate=true} and review
 * the difference of {@code golden.json}.
 */
class GoldenTraceTest {
  private static final Path RESOURCES = Path.of("src", "test", "resources");
  private static final Path WORKLOAD = RESOURCES.resolve("golden.workload.json");
  private static final Path TRACE = RESOURCES.resolve("golden.trace");
  private static final Path JSON = RESOURCES.resolve("golden.json");

  @TempDir Path directory;

  @BeforeAll
  static void regenerateIfAsked() throws IOException {
    if (Boolean.getBoolean("golden.regenerate")) {
      write(TRACE);
      Files.writeString(JSON, json(Trace.read(TRACE)));
    }
  }

  @Test
  void readsBackExactly() throws IOException {
    Trace trace = Trace.read(TRACE);
    assertEquals(new ObjectMapper().readTree(JSON.toFile()), tree(trace));
    Set<Operation> operations =
        trace.entries().stream().map(Trace.Entry::operation).collect(Collectors.toSet());
    assertEquals(EnumSet.allOf(Operation.class), operations);
  }

  @Test
  void isWrittenAgainByteForByte() throws IOException {
    Path again = directory.resolve("again.trace");
    write(again);
    assertArrayEquals(Files.readAllBytes(TRACE), Files.readAllBytes(again));
  }

  @Test
  void namesItsSpecification() throws Exception {
    byte[] sha256 = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(WORKLOAD));
    String hash = HexFormat.of().formatHex(Arrays.copyOf(sha256, 16));
    assertEquals(hash, Trace.read(TRACE).specificationHash());
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

  private static void write(Path file) {
    int status =
        TraceWriter.execute(
            "--spec",
            WORKLOAD.toString(),
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
