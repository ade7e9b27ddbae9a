package dev.tidepool.examples;

/** Verifies the claims of the examples. */
public final class Check {
  private Check() {}

  /** Prints a claim if it holds; otherwise throws an error that ends the program. */
  public static void that(boolean holds, String claim) {
    if (!holds) {
      throw new AssertionError("this does not hold: " + claim);
    }
    System.out.println("verified: " + claim);
  }

  /**
   * Returns the first argument of a program as a number, or a default if there is none. Ends the
   * program if the argument is not a size.
   */
  public static int size(String[] arguments, int otherwise) {
    if (arguments.length == 0) {
      return otherwise;
    }
    if (!arguments[0].matches("[1-9][0-9]{0,8}")) {
      System.err.println("'" + arguments[0] + "' is no size; give a number from 1 to 999999999");
      System.exit(2);
    }
    return Integer.parseInt(arguments[0]);
  }
}
