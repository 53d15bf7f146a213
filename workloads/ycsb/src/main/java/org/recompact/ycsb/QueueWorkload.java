package org.recompact.ycsb;

import java.util.Properties;
import site.ycsb.DB;
import site.ycsb.WorkloadException;
import site.ycsb.workloads.CoreWorkload;

/**
 * A queue over YCSB's core workload: inserts the next key at one end, deletes the oldest at the
 * other, by turns. So there are as many records as the load left at any time, and what the run
 * inserts goes through them. Nothing is drawn.
 *
 * <table>
 *   <caption>Properties</caption>
 *   <tr><th>property</th><th>meaning</th></tr>
 *   <tr><td>{@code recordcount}</td><td>YCSB's: how many records the queue holds, key numbers 0 to
 *     that, which the load has inserted</td></tr>
 *   <tr><td>{@code fieldcount}, {@code fieldlength}</td><td>YCSB's: what a value is</td></tr>
 * </table>
 *
 * <p>Proportions and distributions of {@link CoreWorkload} have no effect. Key numbers are in the
 * order of keys only if the driver does not hash them ({@code key_order: ordered}).
 *
 * <p>Why by turns: with a coin for each operation, the number of records would walk away from that
 * of the load by the square root of the operations.
 */
public final class QueueWorkload extends CoreWorkload {
  private long oldest;
  private boolean deletes;

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    oldest = 0;
    deletes = false;
  }

  /** Does one operation: an insert first, then a delete, and so on. */
  @Override
  public boolean doTransaction(DB db, Object threadState) {
    if (deletes) {
      db.delete(table, buildKeyName(oldest));
      oldest++;
    } else {
      doTransactionInsert(db);
    }
    deletes = !deletes;
    return true;
  }
}
