package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

class QueueWorkloadTest {
  private static final int RECORDS = 100;

  @Test
  void theNextKeyIsInsertedAndTheOldestDeletedByTurns() throws WorkloadException {
    List<String> expected = new ArrayList<>();
    for (int turn = 0; turn < 5 * RECORDS; turn++) {
      expected.add("insert user" + (RECORDS + turn) + " of 10 bytes");
      expected.add("delete user" + turn);
    }
    assertEquals(expected, run(10 * RECORDS));
  }

  @Test
  void thereAreAsManyRecordsAsTheLoadLeft() throws WorkloadException {
    int records = RECORDS;
    for (String operation : run(10 * RECORDS)) {
      records += operation.startsWith("insert") ? 1 : -1;
      assertEquals(RECORDS, records, 1, operation);
    }
    assertEquals(RECORDS, records);
  }

  private static List<String> run(int operations) throws WorkloadException {
    Properties properties = new Properties();
    properties.setProperty("insertorder", "ordered");
    properties.setProperty("recordcount", String.valueOf(RECORDS));
    properties.setProperty("fieldcount", "1");
    properties.setProperty("fieldlength", "10");
    Measurements.setProperties(properties);
    QueueWorkload workload = new QueueWorkload();
    workload.init(properties);
    ListingDb db = new ListingDb();
    for (int i = 0; i < operations; i++) {
      workload.doTransaction(db, null);
    }
    return db.operations;
  }

  private static final class ListingDb extends DB {
    final List<String> operations = new ArrayList<>();

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
      long bytes = values.values().stream().mapToLong(ByteIterator::bytesLeft).sum();
      operations.add("insert " + key + " of " + bytes + " bytes");
      return Status.OK;
    }

    @Override
    public Status delete(String table, String key) {
      operations.add("delete " + key);
      return Status.OK;
    }

    @Override
    public Status read(
        String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
      throw new AssertionError("no reads are asked for");
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
    public Status update(String table, String key, Map<String, ByteIterator> values) {
      throw new AssertionError("no updates are asked for");
    }
  }
}
