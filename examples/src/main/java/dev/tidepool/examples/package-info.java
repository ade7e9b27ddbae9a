/**
 * Small programs that show how to use Tidepool. Each prints the claims that it verified, and ends
 * with an error if a claim does not hold.
 */
@NullMarked
package dev.tidepool.examples;

import org.jspecify.annotations.NullMarked;
