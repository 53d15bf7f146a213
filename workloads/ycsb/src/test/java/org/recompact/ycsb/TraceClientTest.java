package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Vector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.recompact.ycsb.TraceFile.Operation;
import site.ycsb.ByteIterator;
import site.ycsb.RandomByteIterator;
import site.ycsb.Status;

class TraceClientTest {
  private static final Path FULL_DEVICE = Path.of("/dev/full");

  @TempDir Path directory;

  private Path file;
  private Properties properties;
  private TraceClient client;

  @BeforeEach
  void makeClient() {
    file = directory.resolve("test.trace");
    properties = new Properties();
    properties.setProperty(TraceClient.PROPERTY_FILE, file.toString());
    properties.setProperty(TraceClient.PROPERTY_SEED, "18446744073709551615");
    properties.setProperty(TraceClient.PROPERTY_SPECIFICATION, "{}");
    properties.setProperty("insertorder", "ordered");
    properties.setProperty("recordcount", "5");
    client = new TraceClient();
    client.setProperties(properties);
  }

  @AfterEach
  void discard() {
    client.discard();
  }

  @Test
  void everyOperationBecomesItsRecord() throws IOException {
    client.init();
    assertEquals(Status.OK, client.insert("usertable", "user0", value(1024)));
    assertEquals(Status.OK, client.update("usertable", "user7", value(100)));
    assertEquals(Status.OK, client.read("usertable", "user3", null, new HashMap<>()));
    assertEquals(Status.OK, client.scan("usertable", "user4", 200, null, new Vector<>()));
    assertEquals(Status.OK, client.delete("usertable", "user2147483648"));
    assertEquals(Status.OK, client.read("usertable", "recent12", null, new HashMap<>()));
    client.cleanup();

    Trace trace = Trace.read(file);
    assertEquals(
        List.of(
            new Trace.Entry(Operation.INSERT, 0, 1024),
            new Trace.Entry(Operation.UPDATE, 7, 100),
            new Trace.Entry(Operation.READ, 3, 0),
            new Trace.Entry(Operation.SCAN, 4, 200),
            new Trace.Entry(Operation.DELETE, 2147483648L, 0),
            new Trace.Entry(Operation.READ_RECENT, 12, 0)),
        trace.entries());
    assertEquals(2147483649L, trace.keyCount());
    assertEquals("18446744073709551615", Long.toUnsignedString(trace.seed()));
  }

  @Test
  void aTraceWithoutRecordsKnowsItsKeyCount() throws IOException {
    client.init();
    client.cleanup();
    assertEquals(List.of(), Trace.read(file).entries());
    assertEquals(5, Trace.read(file).keyCount());
  }

  @Test
  void recordsOfSeveralBuffersAreKept() throws IOException {
    client.init();
    int count = 200_000;
    for (int key = 0; key < count; key++) {
      client.read("usertable", "user" + key, null, new HashMap<>());
    }
    client.cleanup();
    List<Trace.Entry> entries = Trace.read(file).entries();
    assertEquals(count, entries.size());
    for (int key = 0; key < count; key++) {
      assertEquals(key, entries.get(key).keyNumber());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "user",
        "user-1",
        "user+1",
        "user 1",
        "user1x",
        "7",
        "key7",
        "user9223372036854775808"
      })
  void anUnparsableKeyIsAnError(String key) {
    client.init();
    TraceError error = assertThrows(TraceError.class, () -> client.delete("usertable", key));
    assertTrue(error.getMessage().contains("'" + key + "'"), error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"recent", "recent-1", "recent 1", "recentx"})
  void anUnparsableRankIsAnError(String key) {
    client.init();
    TraceError error =
        assertThrows(TraceError.class, () -> client.read("usertable", key, null, new HashMap<>()));
    assertTrue(error.getMessage().contains("'" + key + "' is not 'recent'"), error.getMessage());
  }

  @Test
  void onlyAReadTakesARank() {
    client.init();
    assertThrows(TraceError.class, () -> client.delete("usertable", "recent1"));
  }

  @Test
  void aHashedInsertOrderIsRefused() {
    properties.setProperty("insertorder", "hashed");
    TraceError error = assertThrows(TraceError.class, client::init);
    assertTrue(error.getMessage().contains("insertorder"), error.getMessage());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        TraceClient.PROPERTY_FILE,
        TraceClient.PROPERTY_SEED,
        TraceClient.PROPERTY_SPECIFICATION
      })
  void aMissingPropertyIsNamed(String property) {
    properties.remove(property);
    TraceError error = assertThrows(TraceError.class, client::init);
    assertTrue(error.getMessage().contains(property), error.getMessage());
  }

  @Test
  void anotherThreadIsRefused() {
    CompletionException error =
        assertThrows(
            CompletionException.class, () -> CompletableFuture.runAsync(client::init).join());
    assertTrue(error.getCause().getMessage().contains("main thread"), error::getMessage);
  }

  @Test
  void theNameHoldsOnlyACompleteTrace() throws IOException {
    Files.writeString(file, "the former trace");
    client.init();
    client.delete("usertable", "user1");
    assertEquals("the former trace", Files.readString(file));
    client.cleanup();
    assertEquals(1, Trace.read(file).entries().size());
    assertEquals(List.of(file), files());
  }

  @Test
  void discardLeavesNoFile() throws IOException {
    client.init();
    client.delete("usertable", "user1");
    client.discard();
    assertEquals(List.of(), files());
  }

  @Test
  void aFullDiskIsNamedAndLeavesNoFile() throws IOException {
    assumeTrue(Files.exists(FULL_DEVICE));
    Files.createSymbolicLink(TraceFile.temporaryOf(file), FULL_DEVICE);
    client.init();
    client.delete("usertable", "user1");
    TraceError error = assertThrows(TraceError.class, client::cleanup);
    assertEquals("cannot write trace " + file + ": No space left on device", error.getMessage());
    client.discard();
    assertFalse(Files.exists(file));
    assertEquals(List.of(), files());
  }

  private List<Path> files() throws IOException {
    try (var paths = Files.list(directory)) {
      return paths.toList();
    }
  }

  private static Map<String, ByteIterator> value(int bytes) {
    return Map.of("field0", new RandomByteIterator(bytes));
  }
}
