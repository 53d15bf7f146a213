package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyPermutationTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 63, 64, 65, 1000, 65_536, 1_000_003})
  void everyKeyIsReachedOnce(int size) {
    KeyPermutation permutation = new KeyPermutation(size);
    BitSet reached = new BitSet(size);
    for (int position = 0; position < size; position++) {
      reached.set(Math.toIntExact(permutation.apply(position)));
    }
    assertEquals(size, reached.cardinality());
    assertEquals(size, reached.length());
  }

  @Test
  void neighboursAreScattered() {
    int size = 10_000_000;
    int tenth = size / 10;
    int[] perTenth = new int[10];
    KeyPermutation permutation = new KeyPermutation(size);
    for (int position = 0; position < 1000; position++) {
      perTenth[Math.toIntExact(permutation.apply(position)) / tenth]++;
    }
    for (int count : perTenth) {
      assertTrue(Math.abs(count - 100) < 45, "100 of 1000 belong in each tenth, not " + count);
    }
  }
}
