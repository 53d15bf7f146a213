package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.recompact.ycsb.TraceFile.Operation;

/** Seeds are fixed, so the bounds of 4.5 standard deviations always hold or never. */
class TraceWriterTest {
  private static final int RECORDS = 10_000;
  private static final int OPERATIONS = 100_000;
  private static final double DEVIATIONS = 4.5;

  @TempDir Path directory;

  private Path specification;
  private Path file;

  @BeforeEach
  void nameFiles() {
    specification = directory.resolve("workload.json");
    file = directory.resolve("out.trace");
  }

  @ParameterizedTest
  @CsvSource({
    "core, uniform",
    "core, zipfian",
    "core, latest",
    "core, sequential",
    "core, exponential",
    "zipf, zipfian",
    "zipf, ycsb_zipfian",
    "latest, uniform",
    "latest, zipfian",
    "latest, rangehot",
    "latest, keyrange"
  })
  void bytesFollowFromSpecificationAndSeed(String workloadClass, String distribution)
      throws IOException {
    String mix = "\"read\": 0.25, \"update\": 0.25, \"insert\": 0.25, \"readmodifywrite\": 0.25";
    specify(workloadClass, distribution, mix);
    byte[] first = Files.readAllBytes(write("run", "7"));
    List<Trace.Entry> entries = Trace.read(file).entries();
    byte[] second = Files.readAllBytes(write("run", "7"));
    assertEquals(-1, Arrays.mismatch(first, second));
    assertNotEquals(entries, Trace.read(write("run", "8")).entries());
  }

  @Test
  void aQueueFollowsItsLoad() throws IOException {
    Files.writeString(
        specification,
        "{\"id\": \"test\", \"class\": \"queue\", \"records\": 10, \"operations\": 4,"
            + " \"value_bytes\": 100, \"distribution\": \"oldest\","
            + " \"insert\": 0.5, \"delete\": 0.5}");
    Trace load = Trace.read(write("load", "1"));
    assertEquals(
        LongStream.range(0, 10)
            .mapToObj(key -> new Trace.Entry(Operation.INSERT, key, 100))
            .toList(),
        load.entries());
    Trace run = Trace.read(write("run", "1"));
    assertEquals(
        List.of(
            new Trace.Entry(Operation.INSERT, 10, 100),
            new Trace.Entry(Operation.DELETE, 0, 0),
            new Trace.Entry(Operation.INSERT, 11, 100),
            new Trace.Entry(Operation.DELETE, 1, 0)),
        run.entries());
    assertEquals(12, run.keyCount());
  }

  @ParameterizedTest
  @ValueSource(strings = {"core", "zipf", "latest"})
  void theLoadInsertsEveryKeyInOrder(String workloadClass) throws IOException {
    specify(workloadClass, "zipfian", "\"read\": 1");
    Trace trace = Trace.read(write("load", "1"));
    assertEquals(
        LongStream.range(0, RECORDS)
            .mapToObj(key -> new Trace.Entry(Operation.INSERT, key, 1000))
            .toList(),
        trace.entries());
    assertEquals(RECORDS, trace.keyCount());
  }

  @ParameterizedTest
  @CsvSource({
    // id, read, update, insert, scan, read-modify-write, distribution
    "WO,      0,    1,    0,    0,    0,   uniform",
    "WH,      0.3,  0.7,  0,    0,    0,   uniform",
    "RWB,     0.5,  0.5,  0,    0,    0,   uniform",
    "RH,      0.7,  0.3,  0,    0,    0,   uniform",
    "RO,      1,    0,    0,    0,    0,   uniform",
    "SCN-WH,  0,    0.7,  0,    0.3,  0,   uniform",
    "SCN-RWB, 0,    0.5,  0,    0.5,  0,   uniform",
    "SCN-RH,  0,    0.3,  0,    0.7,  0,   uniform",
    "A,       0.5,  0.5,  0,    0,    0,   zipfian",
    "B,       0.95, 0.05, 0,    0,    0,   zipfian",
    "C,       1,    0,    0,    0,    0,   zipfian",
    "D,       0.95, 0,    0.05, 0,    0,   latest",
    "E,       0,    0,    0.05, 0.95, 0,   zipfian",
    "F,       0.5,  0,    0,    0,    0.5, zipfian"
  })
  void aMixHasItsProportions(
      String id,
      double read,
      double update,
      double insert,
      double scan,
      double readModifyWrite,
      String distribution)
      throws IOException {
    String mix =
        String.format(
            Locale.ROOT,
            "\"read\": %s, \"update\": %s, \"insert\": %s, \"scan\": %s, \"readmodifywrite\": %s,"
                + " \"scan_length\": {\"distribution\": \"uniform\", \"max\": 200}",
            read,
            update,
            insert,
            scan,
            readModifyWrite);
    specify("core", distribution, mix);
    Trace trace = Trace.read(write("run", "1"));

    assertShare(trace.count(Operation.READ), read + readModifyWrite, "reads");
    assertShare(trace.count(Operation.UPDATE), update + readModifyWrite, "updates");
    assertShare(trace.count(Operation.INSERT), insert, "inserts");
    assertShare(trace.count(Operation.SCAN), scan, "scans");
    long inserted = trace.count(Operation.INSERT);
    assertEquals(RECORDS + inserted, trace.keyCount());
    for (Trace.Entry entry : trace.entries()) {
      assertTrue(entry.keyNumber() < trace.keyCount(), () -> id + ": " + entry);
      assertTrue(lengthFits(entry), () -> id + ": " + entry);
    }
  }

  @Test
  void aScanHasTheMeanLengthOfItsDistribution() throws IOException {
    specify(
        "core",
        "uniform",
        "\"scan\": 1, \"scan_length\": {\"distribution\": \"uniform\", \"max\": 200}");
    double mean =
        Trace.read(write("run", "1")).entries().stream()
            .mapToInt(Trace.Entry::length)
            .average()
            .orElseThrow();
    double deviation = Math.sqrt((200.0 * 200.0 - 1) / 12 / OPERATIONS);
    assertEquals(100.5, mean, DEVIATIONS * deviation);
  }

  @Test
  void aReadModifyWriteIsAReadThenAnUpdateOfTheSameKey() throws IOException {
    specify("core", "uniform", "\"readmodifywrite\": 1");
    List<Trace.Entry> entries = Trace.read(write("run", "1")).entries();
    assertEquals(2 * OPERATIONS, entries.size());
    for (int i = 0; i < entries.size(); i += 2) {
      long key = entries.get(i).keyNumber();
      assertEquals(new Trace.Entry(Operation.READ, key, 0), entries.get(i));
      assertEquals(new Trace.Entry(Operation.UPDATE, key, 1000), entries.get(i + 1));
    }
  }

  @Test
  void uniformKeysAreUniform() throws IOException {
    specify("core", "uniform", "\"update\": 1");
    int[] counts = new int[RECORDS];
    Trace.read(write("run", "1"))
        .entries()
        .forEach(entry -> counts[Math.toIntExact(entry.keyNumber())]++);
    double expected = (double) OPERATIONS / RECORDS;
    double chiSquare = 0;
    int distinct = 0;
    for (int count : counts) {
      chiSquare += (count - expected) * (count - expected) / expected;
      distinct += count > 0 ? 1 : 0;
    }
    assertEquals(RECORDS - 1, chiSquare, DEVIATIONS * Math.sqrt(2.0 * RECORDS), "chi-square");
    double missing = RECORDS * Math.exp(-expected);
    assertEquals(RECORDS - missing, distinct, Math.max(1, DEVIATIONS * Math.sqrt(missing)));
  }

  @Test
  void latestFollowsTheInserts() throws IOException {
    specify("core", "latest", "\"read\": 0.5, \"insert\": 0.5");
    long last = RECORDS - 1;
    int near = 0;
    Trace trace = Trace.read(write("run", "1"));
    for (Trace.Entry entry : trace.entries()) {
      if (entry.operation() == Operation.INSERT) {
        assertEquals(++last, entry.keyNumber());
      } else {
        assertTrue(entry.keyNumber() <= last, entry::toString);
        near += last - entry.keyNumber() < 100 ? 1 : 0;
      }
    }
    long reads = trace.count(Operation.READ);
    assertTrue(near > reads / 3, near + " of " + reads + " reads are of the last 100 records");
  }

  @Test
  void aHotspotGetsItsOperations() throws IOException {
    specify(
        "core",
        "hotspot",
        "\"read\": 1, \"hotspot\": {\"data_fraction\": 0.1, \"operation_fraction\": 0.8}");
    long hot =
        Trace.read(write("run", "1")).entries().stream()
            .filter(entry -> entry.keyNumber() < RECORDS / 10)
            .count();
    assertShare(hot, 0.8, "operations on the hot tenth");
  }

  @Test
  void aWrongSpecificationIsNamed() throws IOException {
    specify("core", "uniform", "\"reed\": 1");
    String message = fail(1, "run", "1");
    assertTrue(message.startsWith(specification + ": key 'reed'"), message);
    assertFalse(Files.exists(file));
  }

  @Test
  void aMissingSpecificationIsNamed() {
    String message = fail(1, "run", "1");
    assertEquals(specification + " (No such file or directory)\n", message);
  }

  @Test
  void anUnwritableFileIsNamed() throws IOException {
    specify("core", "uniform", "\"read\": 1");
    file = directory.resolve("missing").resolve("out.trace");
    String message = fail(1, "run", "1");
    assertTrue(message.startsWith("cannot write trace " + file), message);
    assertTrue(message.endsWith("(No such file or directory)\n"), message);
    assertEquals(1, message.lines().count(), message);
  }

  @Test
  void aFolderInPlaceOfTheFileIsNamed() throws IOException {
    specify("core", "uniform", "\"read\": 1");
    Files.createDirectory(file);
    String message = fail(1, "run", "1");
    assertTrue(message.startsWith("cannot write trace " + file), message);
    assertEquals(2, filesIn(directory), "the specification and the folder");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "x", "18446744073709551616"})
  void aWrongSeedIsAUsageError(String seed) throws IOException {
    specify("core", "uniform", "\"read\": 1");
    assertTrue(fail(2, "run", seed).contains("--seed"));
  }

  @Test
  void aWrongPhaseIsAUsageError() throws IOException {
    specify("core", "uniform", "\"read\": 1");
    assertTrue(fail(2, "walk", "1").contains("--phase"));
  }

  @Test
  void aKilledWriterLeavesNoFileAndNoSuccess() throws Exception {
    specify("core", "uniform", "\"read\": 1");
    Files.writeString(
        specification, Files.readString(specification).replace(": " + OPERATIONS, ": 2000000000"));
    Process writer =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                TraceWriter.class.getName(),
                "--spec=" + specification,
                "--phase=run",
                "--seed=1",
                "--out=" + file)
            .redirectErrorStream(true)
            .start();
    while (filesIn(directory) < 2 && writer.isAlive()) {
      Thread.sleep(10);
    }
    assertEquals(2, filesIn(directory), "the specification and the temporary file");
    writer.destroy();
    assertEquals(1, writer.waitFor());
    assertEquals(1, filesIn(directory), "the specification");
  }

  private void specify(String workloadClass, String distribution, String mix) throws IOException {
    Files.writeString(
        specification,
        String.format(
            "{\"id\": \"test\", \"class\": \"%s\", \"records\": %d, \"operations\": %d,"
                + " \"value_bytes\": 1000, \"distribution\": \"%s\", \"zipf_constant\": 0.99, %s%s}",
            workloadClass,
            RECORDS,
            OPERATIONS,
            distribution,
            workloadClass.equals("latest") ? ofLatest(distribution) : "",
            mix));
  }

  private static String ofLatest(String distribution) {
    String recent = "\"recent_fraction\": 0.01, ";
    String range = "\"hot_range\": {\"start\": 0.5, \"fraction\": 0.1, \"elsewhere\": 0.02}, ";
    return switch (distribution) {
      case "rangehot" -> recent + range;
      case "keyrange" -> range;
      default -> recent;
    };
  }

  private Path write(String phase, String seed) {
    assertEquals(0, execute(phase, seed));
    return file;
  }

  /** Returns what a failing command says. */
  private String fail(int status, String phase, String seed) {
    PrintStream standardError = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      assertEquals(status, execute(phase, seed));
    } finally {
      System.setErr(standardError);
    }
    return said.toString(StandardCharsets.UTF_8);
  }

  private int execute(String phase, String seed) {
    return TraceWriter.execute(
        "--spec=" + specification, "--phase=" + phase, "--seed=" + seed, "--out=" + file);
  }

  private static long filesIn(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.count();
    }
  }

  private static boolean lengthFits(Trace.Entry entry) {
    return switch (entry.operation()) {
      case INSERT, UPDATE -> entry.length() == 1000;
      case SCAN -> entry.length() >= 1 && entry.length() <= 200;
      case READ, READ_RECENT, DELETE -> entry.length() == 0;
    };
  }

  private static void assertShare(long count, double share, String what) {
    double deviation = Math.sqrt(OPERATIONS * share * (1 - share));
    assertEquals(OPERATIONS * share, count, DEVIATIONS * deviation + 1e-6, what);
  }
}
