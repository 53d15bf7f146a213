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
  void recentIsAnOption() throws WorkloadException {
    Properties properties = properties("uniform");
    properties.setProperty(LatestWorkload.PROPERTY_RECENT_FRACTION, "0.00004");
    long[] ranks = ranks(draw(properties));
    for (int rank = 0; rank < 4; rank++) {
      assertShare(count(ranks, rank, rank + 1), 0.25, "rank " + rank);
    }
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
  void rangeHotReadsOneRangeAndAFewKeysElsewhere() throws WorkloadException {
    List<String> keys = draw(properties("rangehot")).read;
    long[] numbers = numbers(keys, "user");
    long first = RECORDS / 3;
    assertShare(count(numbers, first, first + 475), 0.98 + 0.02 * 0.00475, "hot range");
    assertShare(count(numbers, first, first + 95), 0.196 + 0.02 * 0.00095, "a fifth of it");
    assertShare(count(numbers, RECORDS / 2, RECORDS), 0.01, "second half");
  }

  @Test
  void theRangeIsAnOption() throws WorkloadException {
    Properties properties = properties("rangehot");
    properties.setProperty(LatestWorkload.PROPERTY_HOT_START, "1");
    properties.setProperty(LatestWorkload.PROPERTY_HOT_FRACTION, "0.001");
    properties.setProperty(LatestWorkload.PROPERTY_ELSEWHERE, "0");
    long[] numbers = numbers(draw(properties).read, "user");
    assertEquals(DRAWS, count(numbers, RECORDS - 100, RECORDS));
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
