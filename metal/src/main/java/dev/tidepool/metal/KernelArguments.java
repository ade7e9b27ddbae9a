package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.spi.KernelArgument;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The arguments of one launch, in the order of the kernel's parameters. Used by one thread.
 *
 * <p>Generated kernels take arrays as the start of their buffers, and all other values in one
 * struct after the arrays. Bytes that begin within an element are staged: copied to a buffer of
 * their own before the kernel, and back after it if the kernel writes them. Arguments with the same
 * bytes share one stage.
 */
final class KernelArguments implements AutoCloseable {
  private static final long LARGEST_VALUE = 4096;
  private static final long GROUP_MEMORY_UNIT = 16;

  private final Commands commands;
  private final MetalDevice device;
  private final Arena arena = Arena.ofConfined();
  private final List<Binding> bindings = new ArrayList<>();
  private final Map<KernelArgument.Array, Stage> stages = new LinkedHashMap<>();
  private MemorySegment struct = arena.allocate(256, Long.BYTES);
  private long structBytes;

  private sealed interface Binding {
    record Pointer(long buffer, long offset) implements Binding {}

    record Value(MemorySegment bytes) implements Binding {}
  }

  /** A copy that replaces an argument's bytes. */
  private static final class Stage {
    final long buffer;
    boolean filled;
    boolean written;

    Stage(long buffer) {
      this.buffer = buffer;
    }
  }

  KernelArguments(Commands commands) {
    this.commands = commands;
    this.device = commands.device();
  }

  /** Returns the memory for values until the launch. */
  Arena scratch() {
    return arena;
  }

  /**
   * Adds the start of an array's buffer; adds to the struct the number of elements before the
   * array.
   */
  void addArray(KernelArgument.Array array, int elementBytes, Access access) {
    MetalBlock block = block(array);
    long at = block.at(array.offset());
    if (at % elementBytes == 0) {
      bindings.add(new Binding.Pointer(block.buffer(), 0));
      addLong(at / elementBytes);
    } else {
      bindings.add(new Binding.Pointer(stage(array, block, access), 0));
      addLong(0);
    }
  }

  /** Adds a pointer to the first byte of an array. */
  void addPointer(KernelArgument.Array array, long alignment, Access access) {
    MetalBlock block = block(array);
    long at = block.at(array.offset());
    bindings.add(
        at % alignment == 0
            ? new Binding.Pointer(block.buffer(), array.bytes() == 0 ? 0 : at)
            : new Binding.Pointer(stage(array, block, access), 0));
  }

  /** Adds a reference to a value. */
  void addReference(MemorySegment value) {
    bindings.add(new Binding.Value(value));
  }

  /** Adds a member to the struct. */
  void addMember(MemorySegment value) {
    long bytes = value.byteSize();
    long at = (structBytes + bytes - 1) / bytes * bytes;
    if (at + bytes > struct.byteSize()) {
      MemorySegment larger = arena.allocate(2 * struct.byteSize(), Long.BYTES);
      larger.copyFrom(struct);
      struct = larger;
    }
    MemorySegment.copy(value, 0, struct, at, bytes);
    structBytes = at + bytes;
  }

  void addLong(long value) {
    addMember(arena.allocateFrom(JAVA_LONG, value));
  }

  void addInt(int value) {
    addMember(arena.allocateFrom(JAVA_INT, value));
  }

  /** Adds the struct, after all arrays. */
  void addStruct() {
    long whole = (structBytes + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
    addReference(struct.asSlice(0, whole));
  }

  private long stage(KernelArgument.Array array, MetalBlock block, Access access) {
    if (array.bytes() == 0) {
      return block.buffer();
    }
    Stage stage = stages.get(array);
    if (stage == null) {
      stage = new Stage(commands.keep(device.blocks().scratch(array.bytes())));
      stages.put(array, stage);
    }
    if (access.reads() && !stage.filled) {
      device
          .bytes()
          .copy(commands, block.buffer(), block.at(array.offset()), stage.buffer, 0, array.bytes());
      stage.filled = true;
    }
    stage.written |= access.writes();
    return stage.buffer;
  }

  /** Runs the kernel, and copies back what it writes to stages. */
  void run(CompiledKernel kernel, long[] groups, long[] items, long groupMemory) {
    long encoder = commands.compute();
    Metal.setComputePipelineState(encoder, kernel.pipeline());
    for (int i = 0; i < bindings.size(); i++) {
      switch (bindings.get(i)) {
        case Binding.Pointer(long buffer, long offset) ->
            Metal.setBuffer(encoder, buffer, offset, i);
        case Binding.Value(MemorySegment bytes) -> setValue(encoder, bytes, i);
      }
    }
    if (groupMemory > 0) {
      long whole = (groupMemory + GROUP_MEMORY_UNIT - 1) / GROUP_MEMORY_UNIT * GROUP_MEMORY_UNIT;
      Metal.setThreadgroupMemoryLength(encoder, whole, 0);
    }
    Metal.dispatchThreadgroups(encoder, groups, items);
    stages.forEach(
        (array, stage) -> {
          if (stage.written) {
            MetalBlock block = block(array);
            device
                .bytes()
                .copy(
                    commands,
                    stage.buffer,
                    0,
                    block.buffer(),
                    block.at(array.offset()),
                    array.bytes());
          }
        });
  }

  private void setValue(long encoder, MemorySegment bytes, int index) {
    if (bytes.byteSize() <= LARGEST_VALUE) {
      Metal.setBytes(encoder, bytes, index);
    } else {
      long buffer = commands.keep(device.blocks().staging(bytes.byteSize()));
      device.blocks().contents(buffer, bytes.byteSize()).copyFrom(bytes);
      Metal.setBuffer(encoder, buffer, 0, index);
    }
  }

  private MetalBlock block(KernelArgument.Array array) {
    if (array.block() instanceof MetalBlock block && device.reaches(block)) {
      return block;
    }
    throw new IllegalArgumentException(
        "an argument's block of " + array.bytes() + " bytes is of another device");
  }

  @Override
  public void close() {
    arena.close();
  }
}
