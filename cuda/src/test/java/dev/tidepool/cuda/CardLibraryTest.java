package dev.tidepool.cuda;

import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import org.junit.jupiter.api.Test;

/**
 * cuBLAS over buffers that it is lent, on the first card of this machine. The system property
 * {@code tidepool.test.cublas} is its file, or the name that the system's loader knows.
 */
class CardLibraryTest {
  private static final String CUBLAS =
      System.getProperty("tidepool.test.cublas", "libcublas.so.13");

  private static SaxpyLibrary cublas(long context) {
    return SaxpyLibrary.in(context, SaxpyLibrary.Functions.ofCublas(CUBLAS));
  }

  @Test
  void itRunsOnTheLentStream() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      ForeignLibraryTest.assertRuns(tidepool, UnifiedMemoryManager::lend, CardLibraryTest::cublas);
    }
  }

  @Test
  void itRunsOnAStreamOfItsOwn() {
    try (Library owner = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      ForeignLibraryTest.assertRuns(
          tidepool, (memory, uses) -> memory.lendOn(owner.stream(), uses), CardLibraryTest::cublas);
      tidepool.memory(tidepool.accelerator("cuda:0")).synchronize();
    }
  }

  @Test
  void itRunsOnAnAdoptedStream() {
    try (Library owner = Library.on(0);
        Tidepool tidepool =
            Simulation.under(owner.settings(), () -> Simulation.open(new CudaProvider()))) {
      ForeignLibraryTest.assertRuns(tidepool, UnifiedMemoryManager::lend, CardLibraryTest::cublas);
    }
  }
}
