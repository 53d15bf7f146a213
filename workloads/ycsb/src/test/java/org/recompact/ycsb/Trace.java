package org.recompact.ycsb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.recompact.ycsb.TraceFile.Operation;

/** A trace read back. It follows the format's description, not the constants of the writer. */
record Trace(long seed, long keyCount, String specificationHash, List<Entry> entries) {
  /** One record of the trace. */
  record Entry(Operation operation, long keyNumber, int length) {}

  /**
   * Reads and checks a trace.
   *
   * @throws IOException if the file is no complete, intact trace of version 2; the message names
   *     the file
   */
  static Trace read(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    require(bytes.length >= 64, file, "truncated");
    ByteBuffer trace = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    String magic = new String(bytes, 0, 8, StandardCharsets.US_ASCII);
    require(magic.equals("RCTRACE\0"), file, "bad magic");
    require(crc32c(bytes, 0, 44) == trace.getInt(44), file, "header checksum mismatch");
    require(trace.getInt(8) == 2, file, "version " + trace.getInt(8));
    require(trace.getInt(12) == 16, file, "record size " + trace.getInt(12));
    require(bytes.length == 64 + 16 * trace.getLong(16), file, "truncated");
    require(crc32c(bytes, 64, bytes.length - 64) == trace.getInt(40), file, "checksum mismatch");

    List<Entry> entries = new ArrayList<>();
    for (int offset = 64; offset < bytes.length; offset += 16) {
      Operation operation =
          switch (trace.getInt(offset + 12)) { // the operation's byte and three zeros
            case 1 -> Operation.INSERT;
            case 2 -> Operation.UPDATE;
            case 3 -> Operation.READ;
            case 4 -> Operation.SCAN;
            case 5 -> Operation.DELETE;
            case 6 -> Operation.READ_RECENT;
            default -> throw new IOException(file + ": unknown operation at byte " + offset);
          };
      entries.add(new Entry(operation, trace.getLong(offset), trace.getInt(offset + 8)));
    }
    String hash = HexFormat.of().formatHex(bytes, 48, 64);
    return new Trace(trace.getLong(24), trace.getLong(32), hash, entries);
  }

  long count(Operation operation) {
    return entries.stream().filter(entry -> entry.operation() == operation).count();
  }

  private static int crc32c(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return (int) crc.getValue();
  }

  private static void require(boolean condition, Path file, String problem) throws IOException {
    if (!condition) {
      throw new IOException(file + ": " + problem);
    }
  }
}
