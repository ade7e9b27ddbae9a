package dev.tidepool.examples;

/** What an example claims: printed if it holds, an error that ends the program if it does not. */
final class Check {
  private Check() {}

  static void that(boolean holds, String claim) {
    if (!holds) {
      throw new AssertionError("this does not hold: " + claim);
    }
    System.out.println("verified: " + claim);
  }

  /** The first argument of a program as a number, or another number if there is none. */
  static int size(String[] arguments, int otherwise) {
    return arguments.length == 0 ? otherwise : Integer.parseInt(arguments[0]);
  }
}
