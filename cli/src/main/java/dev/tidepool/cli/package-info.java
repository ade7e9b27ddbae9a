/**
 * The {@code tidepool} command: information, {@code eval}, the demo, the self-test, quick figures.
 *
 * <p>It uses the public API, and the testkit for the self-test. Nothing uses it.
 */
@NullMarked
package dev.tidepool.cli;

import org.jspecify.annotations.NullMarked;
