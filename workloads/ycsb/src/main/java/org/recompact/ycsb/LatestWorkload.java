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
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload with reads of recent data, in the models of the dLSM paper (VII-A). All
 * operations but reads are those of {@link CoreWorkload}, on uniform keys: the paper updates 1,000
 * keys per second and does not say which (E34).
 *
 * <table>
 *   <caption>Properties</caption>
 *   <tr><th>property</th><th>meaning</th></tr>
 *   <tr><td>{@code latest.model}</td><td>{@code uniform}, {@code zipfian}, {@code rangehot} or
 *     {@code keyrange}</td></tr>
 *   <tr><td>{@code latest.recent_fraction}</td><td>but for {@code keyrange}: how many of the last
 *     updates are recent, as a share of the records</td></tr>
 *   <tr><td>{@code zipf.constant}</td><td>of {@code zipfian}: the update r - 1 updates ago is drawn
 *     with a probability proportional to 1 / r^theta</td></tr>
 *   <tr><td>{@code latest.hot_start}</td><td>of {@code rangehot} and {@code keyrange}: where the
 *     hot range begins, as a share of the keys before it</td></tr>
 *   <tr><td>{@code latest.hot_fraction}</td><td>of the same: length of the hot range, as a share of
 *     the records</td></tr>
 *   <tr><td>{@code latest.elsewhere}</td><td>of the same: proportion of reads of any key</td></tr>
 * </table>
 *
 * <p>All but {@code keyrange} read what was written a number of updates ago. YCSB's own {@code
 * latest} takes the newest insertion for that, but here all writes are updates of keys that are
 * there (E34). Which key a rank stands for depends on how far the writers are, so the trace holds
 * the rank (see {@link TraceFile}) and the driver looks the key up.
 *
 * <p><b>Uniform and Zipfian.</b> The paper does not say how many updates are recent. It says where
 * they are: "time-sensitive data are resident in upper levels" (III-A2). The fewest that this can
 * mean are those of the first level on disk, S_1 = 1 GB of 100 GB, 1 % of the records; two levels
 * would be a tenth. It lies well with Fig. 11(b), where a cache of half that size serves 46 % of
 * uniform reads, but does not follow from it.
 *
 * <p><b>RangeHot</b>: "a key range of recent data, about 10% of the entire key space". A tenth of
 * 100 GB, 20 times the cache of 500 MB, cannot give the 96 % of hits that the paper has without
 * updates (E33). So hot are the last updates of a range that has a tenth of the keys: as many as
 * lie in blocks that fill 0.95 of the cache. Of R recent updates the last S_1 are in level 1, where
 * all is recent; of the others each pair of a full level 2 is one with probability s = (R - S_1) /
 * S_2, and a block with four pairs has one with 1 - (1 - s)^4. A tenth of S_1 + (1 - (1 - s)^4) S_2
 * is 0.95 of the cache for R = 2.1 % of the records. Ranks count updates of the range only, which
 * the driver is told ({@code recent_keys}). In Fig. 13 compactions, which go through a level in the
 * order of its keys, come to the range 200 s after they began and are through after 600 s; hence
 * the place of the range.
 *
 * <p><b>Key range</b> is another reading, that of the scripts of the authors' later work: a
 * contiguous range of as many keys as 0.95 of the cache can hold, whether they were written lately
 * or not. Most of what it reads is in the last level.
 *
 * <p>A few reads of both go anywhere, as in these scripts. Key numbers are in the order of keys
 * only if the driver does not hash them ({@code key_order: ordered}).
 */
public final class LatestWorkload extends CoreWorkload {
  /** Which reads are drawn. */
  public static final String PROPERTY_MODEL = "latest.model";

  /** How many of the last updates are recent, as a share of the records. */
  public static final String PROPERTY_RECENT_FRACTION = "latest.recent_fraction";

  /** Where the hot range begins, as a share of the keys before it. */
  public static final String PROPERTY_HOT_START = "latest.hot_start";

  /** Length of the hot range, as a share of the records. */
  public static final String PROPERTY_HOT_FRACTION = "latest.hot_fraction";

  /** Proportion of reads that go to any key instead of the hot range. */
  public static final String PROPERTY_ELSEWHERE = "latest.elsewhere";

  private Supplier<String> readKeys;

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    String model = properties.getProperty(PROPERTY_MODEL, "");
    readKeys =
        switch (model) {
          case "uniform" -> recent(uniform(recentUpdates(properties)));
          case "zipfian" -> recent(zipfian(properties, recentUpdates(properties)));
          case "rangehot" -> hot(properties, recent(uniform(recentUpdatesOfRange(properties))));
          case "keyrange" -> hot(properties, keyRange(properties));
          default ->
              throw new WorkloadException(
                  "property "
                      + PROPERTY_MODEL
                      + " must be 'uniform', 'zipfian', 'rangehot' or 'keyrange', is '"
                      + model
                      + "'");
        };
  }

  @Override
  public void doTransactionRead(DB db) {
    db.read(table, readKeys.get(), null, new HashMap<>());
  }

  private long recentUpdates(Properties properties) throws WorkloadException {
    return share(number(properties, PROPERTY_RECENT_FRACTION));
  }

  private long recentUpdatesOfRange(Properties properties) throws WorkloadException {
    return share(
        number(properties, PROPERTY_RECENT_FRACTION) * number(properties, PROPERTY_HOT_FRACTION));
  }

  private static Supplier<String> recent(LongSupplier ranks) {
    return () -> TraceClient.RECENT_PREFIX + ranks.getAsLong();
  }

  private static LongSupplier uniform(long count) {
    return () -> ThreadLocalRandom.current().nextLong(count);
  }

  private static LongSupplier zipfian(Properties properties, long count) throws WorkloadException {
    double constant = number(properties, ZipfWorkload.PROPERTY_CONSTANT);
    // Draws from the generator that TraceClient seeds.
    UniformRandomProvider random = () -> ThreadLocalRandom.current().nextLong();
    DiscreteSampler sampler =
        RejectionInversionZipfSampler.of(random, Math.toIntExact(count), constant);
    return () -> sampler.sample() - 1L;
  }

  private Supplier<String> keyRange(Properties properties) throws WorkloadException {
    long length = share(number(properties, PROPERTY_HOT_FRACTION));
    long first =
        Math.min(
            (long) (number(properties, PROPERTY_HOT_START) * recordcount), recordcount - length);
    LongSupplier numbers = uniform(length);
    return () -> buildKeyName(first + numbers.getAsLong());
  }

  private Supplier<String> hot(Properties properties, Supplier<String> keys)
      throws WorkloadException {
    double elsewhere = number(properties, PROPERTY_ELSEWHERE);
    LongSupplier anywhere = uniform(recordcount);
    return () ->
        ThreadLocalRandom.current().nextDouble() < elsewhere
            ? buildKeyName(anywhere.getAsLong())
            : keys.get();
  }

  /** Returns a share of the records, at least one of them. */
  private long share(double fraction) {
    return Math.max(1, Math.round(fraction * recordcount));
  }

  private static double number(Properties properties, String property) throws WorkloadException {
    String value = properties.getProperty(property);
    if (value == null) {
      throw new WorkloadException("property " + property + " is missing");
    }
    return Double.parseDouble(value);
  }
}
