package dev.tidepool.spring;

import dev.tidepool.MemoryOptions;

/**
 * Sets options that have no property, such as listeners, or overrides properties. Beans of this
 * type are called in their order, after the properties were read.
 *
 * <p>A report listener that is set here replaces the one that logs reports.
 */
@FunctionalInterface
public interface TidepoolCustomizer {
  /** Sets options. */
  void customize(MemoryOptions.Builder options);
}
