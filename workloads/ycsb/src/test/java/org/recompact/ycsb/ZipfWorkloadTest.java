package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/** Seeds are fixed, so the bounds of 4.5 standard deviations always hold or never. */
class ZipfWorkloadTest {
  private static final int DRAWS = 1_000_000;
  private static final double DEVIATIONS = 4.5;

  @ParameterizedTest
  @CsvSource({
    "100000,   0.6,  0.0040",
    "1000000,  0.99, 0.0650",
    "1000000,  1,    0.0695",
    "1000000,  1.2,  0.1895",
    "10000000, 2,    0.6079",
    "10000000, 5,    0.9644"
  })
  void ranksFollowZipfsLaw(int records, double constant, double hottest) throws WorkloadException {
    int[] counts = draw(properties(records, constant, "exact", false)).reads;
    double[] probabilities = zipf(records, constant);
    assertEquals(hottest, probabilities[0], 0.0001);
    for (int rank = 0; rank < 10; rank++) {
      assertShare(sum(counts, rank, rank + 1), probabilities[rank], "rank " + rank);
    }
    for (int from = 10; from < records; from *= 10) {
      int to = Math.min(10 * from, records);
      double share = Arrays.stream(probabilities, from, to).sum();
      assertShare(sum(counts, from, to), share, "ranks " + from + " to " + to);
    }
    double distinct =
        Arrays.stream(probabilities).map(p -> -Math.expm1(DRAWS * Math.log1p(-p))).sum();
    long drawn = Arrays.stream(counts).filter(count -> count > 0).count();
    assertEquals(distinct, drawn, DEVIATIONS * Math.sqrt(distinct), "distinct keys");
  }

  @Test
  void scramblingMovesKeysAndKeepsShares() throws WorkloadException {
    int records = 100_000;
    int[] plain = draw(properties(records, 1, "exact", false)).reads;
    int[] scrambled = draw(properties(records, 1, "exact", true)).reads;
    KeyPermutation permutation = new KeyPermutation(records);
    int[] expected = new int[records];
    IntStream.range(0, records)
        .forEach(rank -> expected[Math.toIntExact(permutation.apply(rank))] = plain[rank]);
    assertEquals(0, Arrays.mismatch(plain, scrambled));
    assertEquals(-1, Arrays.mismatch(expected, scrambled));
  }

  @Test
  void ycsbBreaksAtConstantOne() throws WorkloadException {
    int[] counts = draw(properties(10_000_000, 1, "ycsb", false)).reads;
    assertEquals(0.97, (double) counts[0] / DRAWS, 0.002);
    assertEquals(0.03, (double) counts[1] / DRAWS, 0.002);
    assertEquals(DRAWS, counts[0] + counts[1]);
  }

  @Test
  void ycsbIsNearZipfElsewhere() throws WorkloadException {
    int[] counts = draw(properties(10_000_000, 2, "ycsb", false)).reads;
    assertEquals(0.608, (double) counts[0] / DRAWS, 0.002);
  }

  @Test
  void deletesTakeTheirShareOfOperations() throws WorkloadException {
    Properties properties = properties(1000, 0.99, "exact", true);
    properties.setProperty("readproportion", "0.6");
    properties.setProperty("deleteproportion", "0.3");
    properties.setProperty("scanproportion", "0.1");
    CountingDb counts = draw(properties);
    assertShare(Arrays.stream(counts.reads).sum(), 0.6, "reads");
    assertShare(counts.deletes, 0.3, "deletes");
    assertShare(counts.scans, 0.1, "scans");
  }

  @Test
  void anUnknownGeneratorIsNamed() {
    WorkloadException error =
        assertThrows(WorkloadException.class, () -> draw(properties(10, 1, "gray", true)));
    assertTrue(error.getMessage().contains("'gray'"), error.getMessage());
  }

  private static Properties properties(
      int records, double constant, String generator, boolean scrambled) {
    Properties properties = new Properties();
    properties.setProperty("insertorder", "ordered");
    properties.setProperty("recordcount", String.valueOf(records));
    properties.setProperty("readproportion", "1");
    properties.setProperty("updateproportion", "0");
    properties.setProperty(ZipfWorkload.PROPERTY_CONSTANT, String.valueOf(constant));
    properties.setProperty(ZipfWorkload.PROPERTY_GENERATOR, generator);
    properties.setProperty(ZipfWorkload.PROPERTY_SCRAMBLED, String.valueOf(scrambled));
    return properties;
  }

  private static CountingDb draw(Properties properties) throws WorkloadException {
    Measurements.setProperties(properties);
    ZipfWorkload workload = new ZipfWorkload();
    workload.init(properties);
    TraceClient.seedThread(1);
    CountingDb db = new CountingDb(Integer.parseInt(properties.getProperty("recordcount")));
    for (int i = 0; i < DRAWS; i++) {
      workload.doTransaction(db, null);
    }
    return db;
  }

  private static double[] zipf(int records, double constant) {
    double[] weights =
        IntStream.rangeClosed(1, records).mapToDouble(rank -> Math.pow(rank, -constant)).toArray();
    double sum = Arrays.stream(weights).sum();
    return Arrays.stream(weights).map(weight -> weight / sum).toArray();
  }

  private static long sum(int[] counts, int from, int to) {
    return Arrays.stream(counts, from, to).sum();
  }

  private static void assertShare(long count, double share, String what) {
    double deviation = Math.sqrt(DRAWS * share * (1 - share));
    assertEquals(DRAWS * share, count, Math.max(1, DEVIATIONS * deviation), what);
  }

  private static final class CountingDb extends DB {
    final int[] reads;
    int deletes;
    int scans;

    CountingDb(int records) {
      reads = new int[records];
    }

    @Override
    public Status read(
        String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
      reads[Integer.parseInt(key.substring("user".length()))]++;
      return Status.OK;
    }

    @Override
    public Status scan(
        String table,
        String startkey,
        int recordcount,
        Set<String> fields,
        Vector<HashMap<String, ByteIterator>> result) {
      scans++;
      return Status.OK;
    }

    @Override
    public Status delete(String table, String key) {
      deletes++;
      return Status.OK;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
      throw new AssertionError("no updates are asked for");
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
      throw new AssertionError("no inserts are asked for");
    }
  }
}
