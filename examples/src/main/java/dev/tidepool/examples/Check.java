package dev.tidepool.examples;

/** What an example claims: printed if it holds, an error that ends the program if it does not. */
public final class Check {
  private Check() {}

  /** Prints a claim if it holds, and fails if it does not. */
  public static void that(boolean holds, String claim) {
    if (!holds) {
      throw new AssertionError("this does not hold: " + claim);
    }
    System.out.println("verified: " + claim);
  }

  /** The first argument of a program as a number, or another number if there is none. */
  public static int size(String[] arguments, int otherwise) {
    return arguments.length == 0 ? otherwise : Integer.parseInt(arguments[0]);
  }
}
