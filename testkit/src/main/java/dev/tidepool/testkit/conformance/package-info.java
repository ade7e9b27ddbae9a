/**
 * What an accelerator promises, topic by topic; {@link dev.tidepool.testkit.AcceleratorConformance}
 * runs them all.
 *
 * <p>Each test reads as a sentence of the specification and goes through the public API only. What
 * copies is checked on the far side with a pattern.
 */
@NullMarked
package dev.tidepool.testkit.conformance;

import org.jspecify.annotations.NullMarked;
