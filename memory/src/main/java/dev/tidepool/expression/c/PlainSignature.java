package dev.tidepool.expression.c;

import java.util.ArrayList;
import java.util.List;

/** Each array and each value is a parameter. */
final class PlainSignature implements KernelSignature {
  private final List<String> parameters = new ArrayList<>();

  @Override
  public void array(String pointer, String name) {
    parameters.add(pointer + " " + name);
  }

  @Override
  public void value(String type, String name) {
    parameters.add("const " + type + " " + name);
  }

  @Override
  public String declarations() {
    return "";
  }

  @Override
  public String parameters() {
    return String.join(",\n    ", parameters);
  }

  @Override
  public String prologue() {
    return "";
  }
}
