/**
 * The ground floor: everything that most users import.
 *
 * <p>Interfaces, records, enums and exceptions only. It owns the vocabulary (element types,
 * locations, states, options, statistics) and uses nothing above it; its factories find the runtime
 * with {@link java.util.ServiceLoader} through {@link dev.tidepool.TidepoolRuntime}.
 */
@NullMarked
package dev.tidepool;

import org.jspecify.annotations.NullMarked;
