/**
 * The contract of an accelerator, topic by topic; {@link
 * dev.tidepool.testkit.AcceleratorConformance} runs all topics.
 *
 * <p>Each test reads as a sentence of the specification and uses only the public API. Copies are
 * verified at the destination with a pattern.
 */
@NullMarked
package dev.tidepool.testkit.conformance;

import org.jspecify.annotations.NullMarked;
