package dev.tidepool.methods.tree;

import java.util.List;

/**
 * A kernel that is written as a Java method.
 *
 * @param className the binary name of the class that declares the method
 * @param methodName the method's name
 * @param parameters the parameters of a launch, in order, without the work item or index
 * @param body the statements of each item
 * @param sites the places where it may fail, by their ids
 * @param variables the number of variables; ids are smaller
 * @param labels the number of labels; ids are smaller
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
   * @param name the name that arguments use
   * @param kind the type of the scalar, or of the array's elements
   */
  public record Parameter(String name, ElementKind kind, boolean isArray) {}

  /** Returns a copy of this kernel with another body. */
  public KernelTree withBody(List<Statement> changed, int variableCount, int labelCount) {
    return new KernelTree(
        className, methodName, parameters, changed, sites, variableCount, labelCount);
  }
}
