/**
 * What users are told of a manager: statistics, snapshots, leaks, management beans.
 *
 * <p>Reads what the packages below keep, and changes nothing but leaked buffers, which it closes.
 */
@NullMarked
package dev.tidepool.runtime.report;

import org.jspecify.annotations.NullMarked;
