package org.recompact.ycsb;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.ThreadLocalRandom;
import org.recompact.ycsb.TraceFile.Operation;
import site.ycsb.ByteIterator;
import site.ycsb.Client;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.workloads.CoreWorkload;

/**
 * A YCSB binding that writes every operation to a trace file instead of a store. The same workload
 * properties and seed give the same bytes.
 *
 * <table>
 *   <caption>Properties</caption>
 *   <tr><th>property</th><th>meaning</th><th>default</th></tr>
 *   <tr><td>{@code trace.file}</td><td>path of the trace to write</td><td>required</td></tr>
 *   <tr><td>{@code trace.seed}</td><td>unsigned 64-bit seed of all randomness</td>
 *     <td>required</td></tr>
 *   <tr><td>{@code trace.specification}</td><td>text of the workload's specification, whose hash
 *     goes into the header</td><td>required</td></tr>
 *   <tr><td>{@code insertorder}</td><td>YCSB's; must be {@code ordered}, so that a key string
 *     holds its key number</td><td>required</td></tr>
 *   <tr><td>{@code recordcount}</td><td>YCSB's; least key count of the header</td>
 *     <td>0</td></tr>
 * </table>
 *
 * <p>{@link #init} seeds the {@link ThreadLocalRandom} of the calling thread, from which YCSB's
 * core draws keys, operations and scan lengths. YCSB's one other source, {@code Math.random()} in
 * the retry of a failed insert, is never reached because no insert fails. {@code ThreadLocalRandom}
 * adds the thread's id to each of its steps, so the client must run in the main thread, whose id is
 * always 1; the id of any other thread depends on the machine.
 *
 * <p>Failures are {@link TraceError}s. The trace has its final name only after {@link #cleanup};
 * after a failure call {@link #discard}.
 */
public final class TraceClient extends DB {
  /** Path of the trace to write. */
  public static final String PROPERTY_FILE = "trace.file";

  /** Seed of all randomness, an unsigned 64-bit decimal number. */
  public static final String PROPERTY_SEED = "trace.seed";

  /** Text of the workload's specification. */
  public static final String PROPERTY_SPECIFICATION = "trace.specification";

  /**
   * What a key string begins with that names no key but a rank: {@link #read} it for what was
   * written so many updates ago.
   */
  public static final String RECENT_PREFIX = "recent";

  private static final String KEY_PREFIX = "user";
  private static final long MAIN_THREAD_ID = 1;
  private static final int HASH_BYTES = 16;

  private String file;
  private TraceFile trace;

  /** Seeds the calling thread and opens the trace. */
  @Override
  public void init() {
    Properties properties = getProperties();
    if (!"ordered".equals(properties.getProperty(CoreWorkload.INSERT_ORDER_PROPERTY))) {
      throw new TraceError("property " + CoreWorkload.INSERT_ORDER_PROPERTY + " must be 'ordered'");
    }
    file = required(properties, PROPERTY_FILE);
    long seed = Long.parseUnsignedLong(required(properties, PROPERTY_SEED));
    byte[] specificationHash = hash(required(properties, PROPERTY_SPECIFICATION));
    long keyCount =
        Long.parseLong(
            properties.getProperty(Client.RECORD_COUNT_PROPERTY, Client.DEFAULT_RECORD_COUNT));
    try {
      trace = new TraceFile(Path.of(file), seed, keyCount, specificationHash);
    } catch (IOException e) {
      throw cannotWrite(e);
    }
    seedThread(seed);
  }

  /** Completes the trace under its final name. */
  @Override
  public void cleanup() {
    try {
      trace.commit();
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }

  /** Removes what an unfinished trace left on disk; does nothing to a complete one. */
  public void discard() {
    if (trace == null) {
      return;
    }
    try {
      trace.close();
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return append(Operation.INSERT, key, valueBytes(values));
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return append(Operation.UPDATE, key, valueBytes(values));
  }

  @Override
  public Status read(
      String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return key.startsWith(RECENT_PREFIX)
        ? append(Operation.READ_RECENT, number(RECENT_PREFIX, key), 0)
        : append(Operation.READ, key, 0);
  }

  @Override
  public Status scan(
      String table,
      String startkey,
      int recordcount,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return append(Operation.SCAN, startkey, recordcount);
  }

  @Override
  public Status delete(String table, String key) {
    return append(Operation.DELETE, key, 0);
  }

  private Status append(Operation operation, String key, int length) {
    return append(operation, number(KEY_PREFIX, key), length);
  }

  private Status append(Operation operation, long number, int length) {
    try {
      trace.append(operation, number, length);
    } catch (IOException e) {
      throw cannotWrite(e);
    }
    return Status.OK;
  }

  /** Parses a prefix and a decimal number, as {@code user} and the key number in YCSB's keys. */
  private static long number(String prefix, String key) {
    int digits = prefix.length();
    // parseLong would accept a sign.
    if (key.startsWith(prefix) && key.length() > digits && key.charAt(digits) >= '0') {
      try {
        return Long.parseLong(key, digits, key.length(), 10);
      } catch (NumberFormatException e) {
        // Reported below.
      }
    }
    throw new TraceError("key '" + key + "' is not '" + prefix + "' and a number");
  }

  private static int valueBytes(Map<String, ByteIterator> values) {
    long bytes = 0;
    for (ByteIterator value : values.values()) {
      bytes += value.bytesLeft();
    }
    return Math.toIntExact(bytes);
  }

  private static String required(Properties properties, String property) {
    String value = properties.getProperty(property);
    if (value == null) {
      throw new TraceError("property " + property + " is missing");
    }
    return value;
  }

  private static byte[] hash(String specification) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      byte[] digest = sha256.digest(specification.getBytes(StandardCharsets.UTF_8));
      return Arrays.copyOf(digest, HASH_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }

  /** Seeds the generator of the calling thread, which must be the main thread. */
  static void seedThread(long seed) {
    if (Thread.currentThread().getId() != MAIN_THREAD_ID) {
      throw new TraceError("a trace is reproducible only if the client runs in the main thread");
    }
    ThreadLocalRandom.current(); // a thread's first use would replace the seed
    try {
      VarHandle threadSeed =
          MethodHandles.privateLookupIn(Thread.class, MethodHandles.lookup())
              .findVarHandle(Thread.class, "threadLocalRandomSeed", long.class);
      threadSeed.set(Thread.currentThread(), seed);
    } catch (ReflectiveOperationException e) {
      throw new TraceError(
          "cannot seed ThreadLocalRandom; run Java with --add-opens java.base/java.lang=ALL-UNNAMED",
          e);
    }
  }

  private TraceError cannotWrite(IOException e) {
    return new TraceError("cannot write trace " + file + ": " + e.getMessage(), e);
  }
}
