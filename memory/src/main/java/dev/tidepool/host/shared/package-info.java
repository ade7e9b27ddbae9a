/**
 * Memory that processes share by a name: a mapped file under a lock.
 *
 * <p>A process that dies gives its lock up, so the next one finds and deletes what it left.
 */
@NullMarked
package dev.tidepool.host.shared;

import org.jspecify.annotations.NullMarked;
