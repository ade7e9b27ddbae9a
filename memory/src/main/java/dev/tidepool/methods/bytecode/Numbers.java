package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.ArrayList;
import java.util.List;

/** Numbers the variables, labels, arrays and sites of one tree. */
final class Numbers {
  private final List<Site> sites = new ArrayList<>();
  private int variables;
  private int labels;
  private int arrays;
  private int instructions;

  Variable variable(ValueType type) {
    return new Variable(variables++, type);
  }

  Label label() {
    return new Label(labels++);
  }

  KernelArray.Private privateArray(ElementKind kind, int length) {
    return new KernelArray.Private(arrays++, kind, length);
  }

  KernelArray.Shared sharedArray(ElementKind kind, int length) {
    return new KernelArray.Shared(arrays++, kind, length);
  }

  /** Returns a site where the index of an array may be outside of the array. */
  Site index(KernelArray array, List<StackTraceElement> frames) {
    int length =
        switch (array) {
          case KernelArray.Argument _ -> -1;
          case KernelArray.Private own -> own.length();
          case KernelArray.Shared shared -> shared.length();
        };
    int parameter = array instanceof KernelArray.Argument argument ? argument.index() : -1;
    return add(new Site(sites.size(), Site.Fault.INDEX, array.name(), length, parameter, frames));
  }

  /** Returns a site where an integer may be divided by zero. */
  Site division(List<StackTraceElement> frames) {
    return add(new Site(sites.size(), Site.Fault.DIVISION, "", -1, -1, frames));
  }

  private Site add(Site site) {
    sites.add(site);
    return site;
  }

  /** Counts the instructions of a method that becomes a part of the tree. */
  void count(int more) {
    instructions += more;
  }

  /** Returns the instructions of all methods that were counted. */
  int instructions() {
    return instructions;
  }

  List<Site> sites() {
    return sites;
  }

  int variables() {
    return variables;
  }

  int labels() {
    return labels;
  }
}
