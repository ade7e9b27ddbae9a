package dev.tidepool.opencl;

import org.junit.jupiter.api.Nested;

/** The suite over each way to use one device. */
class ConformanceTest {
  @Nested
  class FineSharedPointers extends OpenClConformance {
    FineSharedPointers() {
      super(MemoryMode.FINE_SHARED_POINTERS);
    }
  }

  @Nested
  class CoarseSharedPointers extends OpenClConformance {
    CoarseSharedPointers() {
      super(MemoryMode.COARSE_SHARED_POINTERS);
    }
  }

  @Nested
  class SharedBuffers extends OpenClConformance {
    SharedBuffers() {
      super(MemoryMode.SHARED_BUFFERS);
    }
  }

  @Nested
  class Discrete extends OpenClConformance {
    Discrete() {
      super(MemoryMode.DISCRETE);
    }
  }

  @Nested
  class DiscreteWithoutPointers extends OpenClConformance {
    DiscreteWithoutPointers() {
      super(MemoryMode.DISCRETE_WITHOUT_POINTERS);
    }
  }
}
