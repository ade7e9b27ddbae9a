package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Device memory from the pool that other libraries of the process use. */
@ExtendWith(NothingLeaks.class)
class CurrentPoolTest {
  private static final int MIB = 1 << 20;

  private static List<Device> devices() {
    return Simulation.under(Map.of("tidepool.cuda.memory", "current"), Simulation::devices);
  }

  @Test
  void aBlockHasTheMemoryThatAnotherLibraryGaveBack() {
    SimulatedCuda simulated = Simulation.with(1);
    try (CudaDevice device = (CudaDevice) devices().getFirst();
        Queue queue = device.createQueue()) {
      long pool = Cuda.cuDeviceGetMemPool(device.properties().handle());
      // The other library has the pool keep what it gives back.
      Cuda.cuMemPoolSetReleaseThreshold(pool, 64 * MIB);
      long theirs =
          device
              .context()
              .call(
                  () -> {
                    long stream = Cuda.cuStreamCreateWithPriority(0);
                    long memory = Cuda.cuMemAllocFromPoolAsync(MIB, pool, stream);
                    Cuda.cuMemFreeAsync(memory, stream);
                    Cuda.cuStreamSynchronize(stream);
                    Cuda.cuStreamDestroy(stream);
                    return memory;
                  });
      CudaBlock block = (CudaBlock) device.allocate(MIB, 256, BlockKind.DEVICE);
      assertThat(block.address()).isEqualTo(theirs);
      Bytes bytes = new Bytes(device, queue);
      byte[] sent = Bytes.pattern(MIB, 3);
      bytes.write(sent, block, 0);
      assertThat(bytes.read(block, 0, MIB)).isEqualTo(sent);
      block.free();
      assertThat(simulated.calls("cuMemPoolCreate")).isZero();
    }
    assertThat(simulated.calls("cuMemPoolDestroy")).isZero();
  }

  @Test
  void aPoolThatTheProgramMadeCurrentIsUsedAndStays() {
    SimulatedCuda simulated = Simulation.with(1);
    Cuda.cuInit();
    Context ofTheProgram = Context.retain(0);
    long pool = Cuda.cuMemPoolCreate(0);
    setCurrent(pool);
    try (Device device = devices().getFirst()) {
      assertThat(Cuda.cuDeviceGetMemPool(0)).isEqualTo(pool);
      Block block = device.allocate(MIB, 256, BlockKind.DEVICE);
      assertThat(simulated.calls("cuMemPoolSetAttribute")).as("the pool is set up").isZero();
      block.free();
    }
    Cuda.cuMemPoolDestroy(pool);
    ofTheProgram.release();
  }

  @Test
  void aDeviceWithoutPoolsHasPlainMemory() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    try (Device device = devices().getFirst()) {
      device.allocate(MIB, 256, BlockKind.DEVICE).free();
      assertThat(simulated.calls("cuMemAlloc_v2")).isOne();
    }
  }

  @Test
  void aDeviceThatDoesNotTellItsPoolHasPlainMemory() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.fail("cuDeviceGetMemPool", 1, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED);
    try (Device device = devices().getFirst()) {
      device.allocate(MIB, 256, BlockKind.DEVICE).free();
      assertThat(simulated.calls("cuMemAlloc_v2")).isOne();
    }
  }

  @Test
  void accessOfAPeerIsGrantedAndNotTakenFromOthers() {
    SimulatedCuda simulated = Simulation.with(2);
    List<Device> devices = devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1)) {
      first.enablePeer(second);
      assertThat(simulated.calls("cuMemPoolSetAccess")).isOne();
      first.disablePeer(second);
      assertThat(simulated.calls("cuMemPoolSetAccess")).isOne();
    }
  }

  private static void setCurrent(long pool) {
    NativeCall.call(
        "cuDeviceSetMemPool",
        () ->
            (int)
                Installed.DRIVER
                    .code("cuDeviceSetMemPool", JAVA_INT, JAVA_LONG)
                    .invokeExact(0, pool));
  }
}
