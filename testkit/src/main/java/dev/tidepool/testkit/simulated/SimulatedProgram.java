package dev.tidepool.testkit.simulated;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.testkit.SpiCall;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * Code of a simulated device. A launch is checked against the parameters. Arrays that are only
 * written are poisoned first, and arrays that are only read are passed read-only.
 */
final class SimulatedProgram implements Program {
  private final SimulatedDevice device;
  private final Code code;
  private final List<KernelParameter> parameters;

  /** Code that runs over the device's bytes. */
  interface Code {
    /** Runs the code; an argument is a {@link MemorySegment} or the value of a scalar. */
    void run(List<Object> arguments, LaunchRange range);

    /** Returns the least number of bytes of an array for a range. */
    long bytesNeeded(KernelParameter parameter, LaunchRange range);

    /** Returns whether the last argument, after those of the parameters, reports a failed item. */
    default boolean reportsFaults() {
      return false;
    }
  }

  SimulatedProgram(SimulatedDevice device, Code code, List<KernelParameter> parameters) {
    this.device = device;
    this.code = code;
    List<KernelParameter> all = new ArrayList<>(parameters);
    if (code.reportsFaults()) {
      all.add(KernelParameter.inout("fault status", ElementType.INT));
    }
    this.parameters = List.copyOf(all);
  }

  @Override
  public boolean reportsFaults() {
    return code.reportsFaults();
  }

  /** A checked launch. */
  record Bound(SimulatedProgram program, Launch launch, List<SimulatedBlock> blocks, long bytes) {
    void run() {
      program.run(launch);
    }
  }

  Bound bind(Launch launch) {
    if (launch.arguments().size() != parameters.size()) {
      throw device.punished(
          "launch with " + launch.arguments().size() + " arguments for " + parameters);
    }
    List<SimulatedBlock> blocks = new ArrayList<>();
    long bytes = 0;
    for (int i = 0; i < parameters.size(); i++) {
      KernelParameter parameter = parameters.get(i);
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> {
          blocks.add(checked(parameter, array, launch.range()));
          bytes += array.bytes();
        }
        case KernelArgument.Scalar scalar -> {
          if (parameter.access().isArray()) {
            throw device.punished("array " + parameter.name() + " is given " + scalar.value());
          }
        }
      }
    }
    return new Bound(this, launch, blocks, bytes);
  }

  private SimulatedBlock checked(
      KernelParameter parameter, KernelArgument.Array array, LaunchRange range) {
    String what = "argument " + parameter.name();
    if (!(array.block() instanceof SimulatedBlock block) || block.device() != device) {
      throw device.punished(what + " is " + array.block() + ", which is not of this device");
    }
    if (!parameter.access().isArray()) {
      throw device.punished("scalar " + parameter.name() + " is given an array");
    }
    try {
      Objects.checkFromIndexSize(array.offset(), array.bytes(), block.byteSize());
    } catch (IndexOutOfBoundsException e) {
      throw device.punished(what + " is out of " + block + ": " + e.getMessage());
    }
    long needed = code.bytesNeeded(parameter, range);
    if (array.bytes() < needed) {
      throw device.punished(
          "%s has %s bytes, but the range %s needs %s"
              .formatted(what, array.bytes(), range.global(), needed));
    }
    return block;
  }

  private void run(Launch launch) {
    List<KernelArgument> arguments = launch.arguments();
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < parameters.size(); i++) {
      switch (arguments.get(i)) {
        case KernelArgument.Scalar scalar -> values.add(scalar.value());
        case KernelArgument.Array array -> {
          SimulatedBlock block = (SimulatedBlock) array.block();
          boolean writes = parameters.get(i).access().writes();
          if (writes) {
            block.writtenBy("launch");
          } else {
            block.readBy("launch");
          }
          MemorySegment bytes = block.store().asSlice(array.offset(), array.bytes());
          values.add(writes ? bytes : bytes.asReadOnly());
          boolean undefined = !parameters.get(i).access().reads();
          if (undefined && arguments.stream().filter(shares(array)).count() == 1) {
            bytes.fill(SimulatedBlock.FRESH);
          }
        }
      }
    }
    code.run(values, launch.range());
  }

  private static Predicate<KernelArgument> shares(KernelArgument.Array one) {
    return argument ->
        argument instanceof KernelArgument.Array other
            && other.block().equals(one.block())
            && other.offset() < one.offset() + one.bytes()
            && one.offset() < other.offset() + other.bytes();
  }

  @Override
  public void close() {
    device.ledger().count(SpiCall.CLOSE_PROGRAM);
    device.closed(this);
  }

  @Override
  public String toString() {
    return "program with " + parameters.stream().map(KernelParameter::name).toList();
  }
}
