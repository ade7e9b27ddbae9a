/**
 * Small programs that show how Tidepool is used. Each is complete in its file, prints what it
 * verified, and ends with an error if that was wrong.
 */
@NullMarked
package dev.tidepool.examples;

import org.jspecify.annotations.NullMarked;
