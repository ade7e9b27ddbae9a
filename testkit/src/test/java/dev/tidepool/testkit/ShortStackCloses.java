package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Reservation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import java.time.Duration;
import java.util.function.IntSupplier;

/**
 * The part of {@link ShortStack} that makes things with enough stack, and then ends or takes them
 * with less and less.
 */
final class ShortStackCloses {
  private static final int LENGTH = 1000;

  private final UnifiedMemoryManager memory;
  private final IntSupplier programs;

  /**
   * Closes with one manager.
   *
   * @param programs how many programs its device has
   */
  ShortStackCloses(UnifiedMemoryManager memory, IntSupplier programs) {
    this.memory = memory;
    this.programs = programs;
  }

  void run() throws Exception {
    // Initializes the classes.
    for (int i = 0; i < 3; i++) {
      reserve().close();
      compile().close();
      exportTensor().close();
      DLPack.open(memory, exportTensor().handOver()).close();
      exportColumn().close();
      try (ArrowExport column = exportColumn()) {
        ArrowC.open(memory, column.array(), column.schema()).close();
      }
    }
    closeReservation();
    closeKernel();
    closeTensor();
    takeTensor();
    closeColumn();
    takeColumn();
  }

  private Reservation reserve() {
    return memory.reserve("all", memory.accelerator().memory().freeBytes() / 4, Duration.ZERO);
  }

  private void closeReservation() throws Exception {
    ShortStack.dive("close of a reservation", reserve()::close, 0);
    assertThat(memory.reservations()).isEmpty();
  }

  private Kernel compile() {
    Kernel kernel = memory.compile(KernelSource.elementwise("y = 3 * x"));
    kernel.execute(Arguments.of("y", new int[LENGTH], "x", new int[LENGTH]));
    return kernel;
  }

  private void closeKernel() throws Exception {
    int before = programs.getAsInt();
    Kernel kernel = compile();
    ShortStack.dive("close of a kernel", kernel::close, 0);
    assertThat(programs.getAsInt()).isEqualTo(before);
  }

  /** A tensor of a buffer that is closed: the export has its memory. */
  private DLPackExport exportTensor() {
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH)) {
      return DLPack.exportHost(buffer);
    }
  }

  private void closeTensor() throws Exception {
    DLPackExport tensor = exportTensor();
    ShortStack.dive("close of a tensor", tensor::close, 0);
    assertThat(tensor.isReleased()).isTrue();
  }

  private void takeTensor() throws Exception {
    DLPackExport tensor = exportTensor();
    long address = tensor.handOver();
    ShortStack.dive(
        "taking a tensor",
        () -> {
          if (!tensor.isReleased()) {
            DLPack.open(memory, address).close();
          }
        },
        0);
    assertThat(tensor.isReleased()).isTrue();
  }

  private ArrowExport exportColumn() {
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH)) {
      return ArrowC.export(buffer);
    }
  }

  private void closeColumn() throws Exception {
    ArrowExport column = exportColumn();
    ShortStack.dive("close of a column", column::close, 0);
    assertThat(column.isReleased()).isTrue();
  }

  private void takeColumn() throws Exception {
    ArrowExport column = exportColumn();
    ShortStack.dive(
        "taking a column",
        () -> {
          if (!column.isReleased()) {
            ArrowC.open(memory, column.array(), column.schema()).close();
          }
        },
        0);
    assertThat(column.isReleased()).isTrue();
    column.close();
  }
}
