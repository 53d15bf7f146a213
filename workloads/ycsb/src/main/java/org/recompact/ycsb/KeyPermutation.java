package org.recompact.ycsb;

/**
 * A fixed bijection of the key numbers [0, size) that scatters neighbours over the whole range.
 *
 * <p>It mixes within the smallest power of two that holds the range and walks on from a result
 * outside of it until one lies inside (cycle walking). Each step of the mix - add, multiply by an
 * odd number, xor with the number's own upper half - can be undone, so no two keys meet.
 */
final class KeyPermutation {
  private static final long FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9L;
  private static final long SECOND_MULTIPLIER = 0x94D049BB133111EBL;
  private static final long OFFSET = 0x9E3779B97F4A7C15L; // moves 0, which the other steps keep

  private final long size;
  private final long mask;
  private final int half;

  /** Makes the permutation of [0, size), size at least 1. */
  KeyPermutation(long size) {
    int bits = Math.max(1, Long.SIZE - Long.numberOfLeadingZeros(size - 1));
    this.size = size;
    this.mask = -1L >>> (Long.SIZE - bits);
    this.half = (bits + 1) / 2;
  }

  /** Returns the key number at {@code position}, both in [0, size). */
  long apply(long position) {
    long key = position;
    do {
      key = mix(key);
    } while (key >= size);
    return key;
  }

  private long mix(long value) {
    long mixed = (value + OFFSET) & mask;
    mixed = ((mixed ^ (mixed >>> half)) * FIRST_MULTIPLIER) & mask;
    mixed = ((mixed ^ (mixed >>> half)) * SECOND_MULTIPLIER) & mask;
    return mixed ^ (mixed >>> half);
  }
}
