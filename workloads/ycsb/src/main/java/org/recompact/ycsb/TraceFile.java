package org.recompact.ycsb;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.zip.CRC32C;

/**
 * A trace file being written: a 64-byte header, then one 16-byte record per operation, all little
 * endian.
 *
 * <pre>
 * header   0 char[8] "RCTRACE\0"     8 u32 version (2)     12 u32 record size (16)
 *         16 u64 record count       24 u64 seed            32 u64 key count (every key is below it)
 *         40 u32 CRC-32C of all record bytes               44 u32 CRC-32C of header bytes 0..43
 *         48 byte[16] first 16 bytes of the SHA-256 of the workload's specification text
 * record   0 u64 key number          8 u32 length          12 u8 operation         13 u8[3] zero
 * </pre>
 *
 * <p>The length is the value's bytes for an insert or update, the number of records for a scan, and
 * 0 for a read or delete.
 *
 * <p>A read of a recent update, which version 1 did not have, has a rank in place of the key
 * number: how many updates ago the key was written, 0 for the last. Which key that is, follows from
 * the writers of the run and is known when the trace is replayed. Ranks too are below the key
 * count.
 *
 * <p>Records go to a temporary file beside the final one. {@link #commit} writes the header and
 * renames, so the final name only ever holds a complete trace; {@link #close} without a commit
 * deletes the temporary file.
 */
final class TraceFile implements Closeable {
  /** The operation of a record; its code is part of the file format. */
  enum Operation {
    INSERT(1),
    UPDATE(2),
    READ(3),
    SCAN(4),
    DELETE(5),
    READ_RECENT(6);

    final byte code;

    Operation(int code) {
      this.code = (byte) code;
    }
  }

  private static final byte[] MAGIC = "RCTRACE\0".getBytes(StandardCharsets.US_ASCII);
  private static final int VERSION = 2;
  private static final int HEADER_BYTES = 64;
  private static final int HEADER_CRC_OFFSET = 44;
  private static final int RECORD_BYTES = 16;
  private static final int BUFFER_BYTES = 1 << 20; // a multiple of RECORD_BYTES

  private final Path path;
  private final Path temporary;
  private final long seed;
  private final byte[] specificationHash;
  private final FileChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final CRC32C recordsCrc = new CRC32C();
  private long recordCount;
  private long keyCount;

  /**
   * Opens the temporary file of {@code path}.
   *
   * @param keyCount the number of keys known beforehand; a larger key number raises it
   * @param specificationHash the 16 bytes that the header keeps of the specification's SHA-256
   * @throws IOException if the temporary file cannot be made; nothing is left behind
   */
  TraceFile(Path path, long seed, long keyCount, byte[] specificationHash) throws IOException {
    this.path = path;
    this.temporary = temporaryOf(path);
    this.seed = seed;
    this.keyCount = keyCount;
    this.specificationHash = specificationHash.clone();
    // RandomAccessFile, because its exceptions give the system's reason.
    this.channel = new RandomAccessFile(temporary.toFile(), "rw").getChannel();
    channel.truncate(0).position(HEADER_BYTES);
  }

  /** The file that holds a trace of this process until it is complete. */
  static Path temporaryOf(Path path) {
    return path.resolveSibling(path.getFileName() + "." + ProcessHandle.current().pid() + ".tmp");
  }

  /** Appends one record; {@code length} as in the class comment. */
  void append(Operation operation, long keyNumber, int length) throws IOException {
    if (!buffer.hasRemaining()) {
      writeBuffer();
    }
    buffer.putLong(keyNumber).putInt(length).putInt(operation.code); // the code and three zeros
    recordCount++;
    keyCount = Math.max(keyCount, keyNumber + 1);
  }

  /** Completes the trace and gives it its final name, replacing an earlier file of that name. */
  void commit() throws IOException {
    writeBuffer();
    ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    header.put(MAGIC).putInt(VERSION).putInt(RECORD_BYTES);
    header.putLong(recordCount).putLong(seed).putLong(keyCount);
    header.putInt((int) recordsCrc.getValue());
    CRC32C headerCrc = new CRC32C();
    headerCrc.update(header.array(), 0, HEADER_CRC_OFFSET);
    header.putInt((int) headerCrc.getValue());
    header.put(specificationHash).flip();
    writeFully(header, channel.position(0));
    channel.force(true);
    channel.close();
    Files.move(
        temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Deletes the temporary file, if {@link #commit} has not renamed it. */
  @Override
  public void close() throws IOException {
    channel.close();
    Files.deleteIfExists(temporary);
  }

  private void writeBuffer() throws IOException {
    buffer.flip();
    recordsCrc.update(buffer.duplicate());
    writeFully(buffer, channel);
    buffer.clear();
  }

  private static void writeFully(ByteBuffer bytes, FileChannel channel) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }
}
