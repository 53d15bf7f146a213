package org.recompact.ycsb;

import java.util.HashMap;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.commons.rng.UniformRandomProvider;
import org.apache.commons.rng.sampling.distribution.DiscreteSampler;
import org.apache.commons.rng.sampling.distribution.RejectionInversionZipfSampler;
import site.ycsb.DB;
import site.ycsb.WorkloadException;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload with reads of recent data, in the three models of the dLSM paper (VII-A).
 * All operations but reads are those of {@link CoreWorkload}, on uniform keys: the paper updates
 * 1,000 keys per second and does not say which (E34).
 *
 * <table>
 *   <caption>Properties</caption>
 *   <tr><th>property</th><th>meaning</th><th>default</th></tr>
 *   <tr><td>{@code latest.model}</td><td>{@code uniform}, {@code zipfian} or {@code rangehot}</td>
 *     <td>required</td></tr>
 *   <tr><td>{@code latest.recent_fraction}</td><td>of {@code uniform} and {@code zipfian}: how many
 *     of the last updates are recent, as a share of the records</td><td>0.01</td></tr>
 *   <tr><td>{@code zipf.constant}</td><td>of {@code zipfian}: the update r - 1 updates ago is drawn
 *     with a probability proportional to 1 / r^theta</td><td>0.99</td></tr>
 *   <tr><td>{@code latest.hot_start}</td><td>of {@code rangehot}: where the hot range begins, as a
 *     share of the keys before it</td><td>1/3</td></tr>
 *   <tr><td>{@code latest.hot_fraction}</td><td>of {@code rangehot}: length of the hot range, as a
 *     share of the records</td><td>0.00475</td></tr>
 *   <tr><td>{@code latest.elsewhere}</td><td>of {@code rangehot}: proportion of reads of any key
 *     </td><td>0.02</td></tr>
 * </table>
 *
 * <p><b>Uniform and Zipfian</b> read what was written a number of updates ago. YCSB's own {@code
 * latest} takes the newest insertion for that, but here all writes are updates of keys that are
 * there (E34). Which key a rank stands for depends on how far the writers are, so the trace holds
 * the rank (see {@link TraceFile}) and the driver looks the key up.
 *
 * <p>The paper does not say how many updates are recent. It says where they are: "time-sensitive
 * data are resident in upper levels" (III-A2). The fewest that this can mean are those of the first
 * level on disk, S_1 = 1 GB of 100 GB, 1 % of the records; two levels would be a tenth. That is the
 * default. It lies well with Fig. 11(b), where a cache of half that size serves 46 % of uniform
 * reads, but does not follow from it.
 *
 * <p><b>RangeHot</b> reads a contiguous range of keys, evenly. "A key range of recent data, about
 * 10% of the entire key space" cannot be a tenth of the 100 GB, 20 times the cache of 500 MB, of
 * which 96 % of the reads are hits (E33). A tenth of the newest 5 % is 0.5 %, as large as the
 * cache. So the range has 0.95 of the cache's bytes, and since the cache has 0.5 % of the data,
 * 0.475 % of the keys. In a contiguous range each block holds hot keys only; newer versions of its
 * keys come and go like those of all keys. A few reads go anywhere, as in the scripts of the
 * authors' later work. The hit ratio is a result and sets nothing here. In Fig. 13 compactions,
 * which go through a level in the order of its keys, come to the range 200 s after they began and
 * are through after 600 s; hence the place of the range. Key numbers are in the order of keys only
 * if the driver does not hash them ({@code key_order: ordered}).
 */
public final class LatestWorkload extends CoreWorkload {
  /** Which reads are drawn: {@code uniform}, {@code zipfian} or {@code rangehot}. */
  public static final String PROPERTY_MODEL = "latest.model";

  /** How many of the last updates are recent, as a share of the records. */
  public static final String PROPERTY_RECENT_FRACTION = "latest.recent_fraction";

  /** Where the hot range begins, as a share of the keys before it. */
  public static final String PROPERTY_HOT_START = "latest.hot_start";

  /** Length of the hot range, as a share of the records. */
  public static final String PROPERTY_HOT_FRACTION = "latest.hot_fraction";

  /** Proportion of reads that go to any key instead of the hot range. */
  public static final String PROPERTY_ELSEWHERE = "latest.elsewhere";

  static final double RECENT_FRACTION = 0.01;
  static final double HOT_START = 1.0 / 3;
  static final double HOT_FRACTION = 0.00475;
  static final double ELSEWHERE = 0.02;

  private Supplier<String> readKeys;

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    String model = properties.getProperty(PROPERTY_MODEL, "");
    readKeys =
        switch (model) {
          case "uniform" -> recent(uniform(recentUpdates(properties)));
          case "zipfian" -> recent(zipfian(properties, recentUpdates(properties)));
          case "rangehot" -> hotRange(properties);
          default ->
              throw new WorkloadException(
                  "property "
                      + PROPERTY_MODEL
                      + " must be 'uniform', 'zipfian' or 'rangehot', is '"
                      + model
                      + "'");
        };
  }

  @Override
  public void doTransactionRead(DB db) {
    db.read(table, readKeys.get(), null, new HashMap<>());
  }

  private long recentUpdates(Properties properties) {
    return share(properties, PROPERTY_RECENT_FRACTION, RECENT_FRACTION);
  }

  private static Supplier<String> recent(LongSupplier ranks) {
    return () -> TraceClient.RECENT_PREFIX + ranks.getAsLong();
  }

  private static LongSupplier uniform(long count) {
    return () -> ThreadLocalRandom.current().nextLong(count);
  }

  private static LongSupplier zipfian(Properties properties, long count) {
    double constant =
        number(properties, ZipfWorkload.PROPERTY_CONSTANT, ZipfianGenerator.ZIPFIAN_CONSTANT);
    // Draws from the generator that TraceClient seeds.
    UniformRandomProvider random = () -> ThreadLocalRandom.current().nextLong();
    DiscreteSampler sampler =
        RejectionInversionZipfSampler.of(random, Math.toIntExact(count), constant);
    return () -> sampler.sample() - 1L;
  }

  private Supplier<String> hotRange(Properties properties) {
    double elsewhere = number(properties, PROPERTY_ELSEWHERE, ELSEWHERE);
    long length = share(properties, PROPERTY_HOT_FRACTION, HOT_FRACTION);
    long first =
        Math.min(
            (long) (number(properties, PROPERTY_HOT_START, HOT_START) * recordcount),
            recordcount - length);
    return () -> {
      ThreadLocalRandom random = ThreadLocalRandom.current();
      return buildKeyName(
          random.nextDouble() < elsewhere
              ? random.nextLong(recordcount)
              : first + random.nextLong(length));
    };
  }

  /** Returns a share of the records, at least one of them. */
  private long share(Properties properties, String property, double byDefault) {
    return Math.max(1, Math.round(number(properties, property, byDefault) * recordcount));
  }

  private static double number(Properties properties, String property, double byDefault) {
    return Double.parseDouble(properties.getProperty(property, String.valueOf(byDefault)));
  }
}
