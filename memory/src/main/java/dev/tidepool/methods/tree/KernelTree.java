package dev.tidepool.methods.tree;

import java.util.List;

/**
 * A kernel that was a Java method.
 *
 * @param className the binary name of the class that declares the method
 * @param methodName the method's name
 * @param parameters those of a launch, in order, without the work item or index
 * @param body what each item does
 * @param sites where it may fail, by their ids
 * @param variables how many there are; ids are smaller
 * @param labels how many there are; ids are smaller
 */
public record KernelTree(
    String className,
    String methodName,
    List<Parameter> parameters,
    List<Statement> body,
    List<Site> sites,
    int variables,
    int labels) {
  /** Copies the lists. */
  public KernelTree {
    parameters = List.copyOf(parameters);
    body = List.copyOf(body);
    sites = List.copyOf(sites);
  }

  /**
   * A parameter of a launch.
   *
   * @param name what arguments call it
   * @param kind the type of the scalar, or of the array's elements
   */
  public record Parameter(String name, ElementKind kind, boolean isArray) {}

  /** Returns a copy of this kernel with another body. */
  public KernelTree withBody(List<Statement> changed, int variableCount, int labelCount) {
    return new KernelTree(
        className, methodName, parameters, changed, sites, variableCount, labelCount);
  }
}
