package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/** Seeds are fixed, so the bounds of 4.5 standard deviations always hold or never. */
class LatestWorkloadTest {
  private static final int RECORDS = 100_000;
  private static final int DRAWS = 1_000_000;
  private static final double DEVIATIONS = 4.5;

  @Test
  void uniformRanksAreUniform() throws WorkloadException {
    long[] ranks = ranks(draw(properties("uniform")));
    assertEquals(999, LongStream.of(ranks).max().orElseThrow()); // 1 % of the records
    for (int from = 0; from < 1000; from += 100) {
      assertShare(count(ranks, from, from + 100), 0.1, "ranks from " + from);
    }
    assertShare(count(ranks, 0, 1), 0.001, "the last update");
  }

  @Test
  void zipfianRanksFollowZipfsLaw() throws WorkloadException {
    double[] probabilities = new double[1000];
    double sum = 0;
    for (int rank = 0; rank < 1000; rank++) {
      probabilities[rank] = Math.pow(rank + 1, -0.99);
      sum += probabilities[rank];
    }
    long[] ranks = ranks(draw(properties("zipfian")));
    assertEquals(DRAWS, count(ranks, 0, 1000));
    for (int rank = 0; rank < 10; rank++) {
      assertShare(count(ranks, rank, rank + 1), probabilities[rank] / sum, "rank " + rank);
    }
    double rest = 0;
    for (int rank = 100; rank < 1000; rank++) {
      rest += probabilities[rank] / sum;
    }
    assertShare(count(ranks, 100, 1000), rest, "ranks from 100");
  }

  @Test
  void rangeHotReadsRecentUpdatesOfItsRangeAndAFewKeysElsewhere() throws WorkloadException {
    List<String> keys = draw(properties("rangehot")).read;
    List<String> hot =
        keys.stream().filter(key -> key.startsWith(TraceClient.RECENT_PREFIX)).toList();
    assertShare(hot.size(), 0.98, "of the hot range");
    long[] ranks = numbers(hot, TraceClient.RECENT_PREFIX);
    assertEquals(hot.size(), count(ranks, 0, 100)); // a tenth of 1 % of the records
    assertShare(count(ranks, 0, 20), 0.196, "the last fifth");
    List<String> elsewhere = keys.stream().filter(key -> key.startsWith("user")).toList();
    assertEquals(keys.size(), hot.size() + elsewhere.size());
    assertShare(count(numbers(elsewhere, "user"), 0, RECORDS / 4), 0.005, "of the first quarter");
  }

  @Test
  void keyRangeReadsOneRangeAndAFewKeysElsewhere() throws WorkloadException {
    long[] numbers = numbers(draw(properties("keyrange")).read, "user");
    long first = RECORDS / 4;
    assertShare(count(numbers, first, first + 10_000), 0.98 + 0.02 * 0.1, "hot range");
    assertShare(count(numbers, first, first + 2_000), 0.196 + 0.02 * 0.02, "a fifth of it");
    assertShare(count(numbers, RECORDS / 2, RECORDS), 0.01, "second half");
  }

  @Test
  void otherOperationsGoToAllKeys() throws WorkloadException {
    Properties properties = properties("zipfian");
    properties.setProperty("readproportion", "0.75");
    properties.setProperty("updateproportion", "0.25");
    RecordingDb db = draw(properties);
    assertShare(db.read.size(), 0.75, "reads");
    long[] updated = numbers(db.updated, "user");
    assertShare(count(updated, 0, RECORDS / 2), 0.125, "updates of the first half");
  }

  @Test
  void aMissingPropertyIsNamed() {
    Properties properties = properties("rangehot");
    properties.remove(LatestWorkload.PROPERTY_HOT_FRACTION);
    WorkloadException error = assertThrows(WorkloadException.class, () -> draw(properties));
    assertTrue(error.getMessage().contains("latest.hot_fraction"), error.getMessage());
  }

  @Test
  void anUnknownModelIsNamed() {
    WorkloadException error =
        assertThrows(WorkloadException.class, () -> draw(properties("newest")));
    assertTrue(error.getMessage().contains("'newest'"), error.getMessage());
  }

  private static Properties properties(String model) {
    Properties properties = new Properties();
    properties.setProperty("insertorder", "ordered");
    properties.setProperty("recordcount", String.valueOf(RECORDS));
    properties.setProperty("readproportion", "1");
    properties.setProperty("updateproportion", "0");
    properties.setProperty(LatestWorkload.PROPERTY_MODEL, model);
    properties.setProperty(LatestWorkload.PROPERTY_RECENT_FRACTION, "0.01");
    properties.setProperty(ZipfWorkload.PROPERTY_CONSTANT, "0.99");
    properties.setProperty(LatestWorkload.PROPERTY_HOT_START, "0.25");
    properties.setProperty(LatestWorkload.PROPERTY_HOT_FRACTION, "0.1");
    properties.setProperty(LatestWorkload.PROPERTY_ELSEWHERE, "0.02");
    return properties;
  }

  private static RecordingDb draw(Properties properties) throws WorkloadException {
    Measurements.setProperties(properties);
    LatestWorkload workload = new LatestWorkload();
    workload.init(properties);
    TraceClient.seedThread(1);
    RecordingDb db = new RecordingDb();
    for (int i = 0; i < DRAWS; i++) {
      workload.doTransaction(db, null);
    }
    return db;
  }

  private static long[] ranks(RecordingDb db) {
    return numbers(db.read, TraceClient.RECENT_PREFIX);
  }

  private static long[] numbers(List<String> keys, String prefix) {
    return keys.stream()
        .mapToLong(
            key -> {
              assertTrue(key.startsWith(prefix), key);
              return Long.parseLong(key.substring(prefix.length()));
            })
        .toArray();
  }

  private static long count(long[] numbers, long from, long to) {
    return LongStream.of(numbers).filter(number -> number >= from && number < to).count();
  }

  private static void assertShare(long count, double share, String what) {
    double deviation = Math.sqrt(DRAWS * share * (1 - share));
    assertEquals(DRAWS * share, count, Math.max(1, DEVIATIONS * deviation), what);
  }

  private static final class RecordingDb extends DB {
    final List<String> read = new ArrayList<>();
    final List<String> updated = new ArrayList<>();

    @Override
    public Status read(
        String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
      read.add(key);
      return Status.OK;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
      updated.add(key);
      return Status.OK;
    }

    @Override
    public Status scan(
        String table,
        String startkey,
        int recordcount,
        Set<String> fields,
        Vector<HashMap<String, ByteIterator>> result) {
      throw new AssertionError("no scans are asked for");
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
      throw new AssertionError("no inserts are asked for");
    }

    @Override
    public Status delete(String table, String key) {
      throw new AssertionError("no deletes are asked for");
    }
  }
}
