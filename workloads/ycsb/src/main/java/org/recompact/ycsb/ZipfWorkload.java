package org.recompact.ycsb;

import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import org.apache.commons.rng.UniformRandomProvider;
import org.apache.commons.rng.sampling.distribution.DiscreteSampler;
import org.apache.commons.rng.sampling.distribution.RejectionInversionZipfSampler;
import site.ycsb.DB;
import site.ycsb.WorkloadException;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload with keys drawn from a Zipf distribution of any constant, and with deletes.
 * All other properties are those of {@link CoreWorkload}, except {@code requestdistribution}, which
 * must be left out.
 *
 * <table>
 *   <caption>Properties</caption>
 *   <tr><th>property</th><th>meaning</th><th>default</th></tr>
 *   <tr><td>{@code zipf.constant}</td><td>theta &gt; 0: rank r of n is drawn with a probability
 *     proportional to 1 / r^theta</td><td>0.99</td></tr>
 *   <tr><td>{@code zipf.generator}</td><td>{@code exact}: rejection-inversion sampling;
 *     {@code ycsb}: YCSB's own {@link ZipfianGenerator}</td><td>{@code exact}</td></tr>
 *   <tr><td>{@code zipf.scrambled}</td><td>{@code true}: hot ranks are spread over the key space;
 *     {@code false}: rank r is key number r - 1</td><td>{@code true}</td></tr>
 *   <tr><td>{@code deleteproportion}</td><td>proportion of operations that are deletes; the other
 *     proportions share the rest by their ratio</td><td>0</td></tr>
 * </table>
 *
 * <p>Keys are drawn from the {@code recordcount} records of the load; records that the run inserts
 * are not drawn.
 *
 * <p>Why not YCSB alone: its scrambled generator knows only theta = 0.99, and {@link
 * ZipfianGenerator} is an approximation that breaks at theta = 1, where its exponent 1 / (1 -
 * theta) is infinite and {@code Math.pow(1, Infinity)} is NaN, cast to 0: of 10 million items, item
 * 0 gets 97 % of the draws and item 1 gets 3 %, where Zipf's law gives them 6 % and 3 %. The
 * generator {@code ycsb} shows what a measurement taken with it would have seen.
 */
public final class ZipfWorkload extends CoreWorkload {
  /** The Zipf constant theta. */
  public static final String PROPERTY_CONSTANT = "zipf.constant";

  /** Which generator draws the ranks: {@code exact} or {@code ycsb}. */
  public static final String PROPERTY_GENERATOR = "zipf.generator";

  /** Whether hot ranks are spread over the key space. */
  public static final String PROPERTY_SCRAMBLED = "zipf.scrambled";

  /** The proportion of operations that are deletes. */
  public static final String PROPERTY_DELETE_PROPORTION = "deleteproportion";

  private double deleteProportion;

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    deleteProportion = Double.parseDouble(properties.getProperty(PROPERTY_DELETE_PROPORTION, "0"));
    LongSupplier ranks = ranks(properties, Math.toIntExact(recordcount));
    boolean scrambled = Boolean.parseBoolean(properties.getProperty(PROPERTY_SCRAMBLED, "true"));
    KeyPermutation permutation = new KeyPermutation(recordcount);
    keychooser = new KeyChooser(scrambled ? () -> permutation.apply(ranks.getAsLong()) : ranks);
  }

  /** Does one operation: a delete, or one that the core workload chooses. */
  @Override
  public boolean doTransaction(DB db, Object threadState) {
    if (deleteProportion > 0 && ThreadLocalRandom.current().nextDouble() < deleteProportion) {
      db.delete(table, buildKeyName(keychooser.nextValue().longValue()));
      return true;
    }
    return super.doTransaction(db, threadState);
  }

  /** Returns the generator of ranks, counted from 0. */
  private static LongSupplier ranks(Properties properties, int recordCount)
      throws WorkloadException {
    double constant =
        Double.parseDouble(
            properties.getProperty(
                PROPERTY_CONSTANT, String.valueOf(ZipfianGenerator.ZIPFIAN_CONSTANT)));
    String generator = properties.getProperty(PROPERTY_GENERATOR, "exact");
    switch (generator) {
      case "exact":
        // Draws from the generator that TraceClient seeds.
        UniformRandomProvider random = () -> ThreadLocalRandom.current().nextLong();
        DiscreteSampler sampler = RejectionInversionZipfSampler.of(random, recordCount, constant);
        return () -> sampler.sample() - 1L;
      case "ycsb":
        ZipfianGenerator zipfian = new ZipfianGenerator(0, recordCount - 1L, constant);
        return zipfian::nextValue;
      default:
        throw new WorkloadException(
            "property "
                + PROPERTY_GENERATOR
                + " must be 'exact' or 'ycsb', is '"
                + generator
                + "'");
    }
  }

  private static final class KeyChooser extends NumberGenerator {
    private final LongSupplier keys;

    KeyChooser(LongSupplier keys) {
      this.keys = keys;
    }

    @Override
    public Number nextValue() {
      long key = keys.getAsLong();
      setLastValue(key);
      return key;
    }

    @Override
    public double mean() {
      throw new UnsupportedOperationException("the mean of the drawn keys is not needed");
    }
  }
}
