package dev.tidepool.expression.c;

import dev.tidepool.UnsupportedKernelException;
import java.util.ArrayList;
import java.util.List;

/**
 * Each array is a parameter, and all values are members of one struct, the next parameter: Metal
 * passes at most {@value #PLACES} pointers, and a value is passed by pointer, too. The last
 * parameters identify the item.
 */
final class PackedSignature implements KernelSignature {
  /** The most pointers of a kernel. */
  private static final int PLACES = 31;

  private final List<String> arrays = new ArrayList<>();
  private final StringBuilder members = new StringBuilder();
  private final StringBuilder prologue = new StringBuilder();

  @Override
  public void array(String pointer, String name) {
    if (arrays.size() == PLACES - 1) {
      throw new UnsupportedKernelException(
          "Metal passes at most "
              + (PLACES - 1)
              + " arrays to a kernel; split it, or use another device, such as the CPU");
    }
    arrays.add(pointer + " " + name + " [[buffer(" + arrays.size() + ")]],\n    ");
  }

  @Override
  public void value(String type, String name) {
    members.append("  ").append(type).append(" ").append(name).append(";\n");
    prologue.append("  const ").append(type).append(" ").append(name);
    prologue.append(" = tp_in.").append(name).append(";\n");
  }

  @Override
  public String declarations() {
    return "struct tp_values {\n" + members + "};\n\n";
  }

  @Override
  public String parameters() {
    return String.join("", arrays)
        + "constant tp_values& tp_in [[buffer("
        + arrays.size()
        + ")]],\n    uint3 tp_global [[thread_position_in_grid]],\n"
        + "    uint3 tp_local [[thread_position_in_threadgroup]],\n"
        + "    uint3 tp_group [[threadgroup_position_in_grid]],\n"
        + "    uint3 tp_groups [[threadgroups_per_grid]],\n"
        + "    uint3 tp_size [[threads_per_threadgroup]]";
  }

  @Override
  public String prologue() {
    return prologue.toString();
  }
}
