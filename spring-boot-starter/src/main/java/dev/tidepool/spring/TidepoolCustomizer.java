package dev.tidepool.spring;

import dev.tidepool.MemoryOptions;

/**
 * Sets options that no property can, such as listeners, or changes what properties set. Beans of
 * this type are called in their order, after the properties were read.
 *
 * <p>A report listener that is set here replaces the one that logs reports.
 */
@FunctionalInterface
public interface TidepoolCustomizer {
  /** Sets options. */
  void customize(MemoryOptions.Builder options);
}
