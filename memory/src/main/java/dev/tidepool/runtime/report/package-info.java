/**
 * Reports on a manager for users: statistics, snapshots, leaks, management beans.
 *
 * <p>Reads the records of lower packages. Changes nothing, except that it closes leaked buffers.
 */
@NullMarked
package dev.tidepool.runtime.report;

import org.jspecify.annotations.NullMarked;
