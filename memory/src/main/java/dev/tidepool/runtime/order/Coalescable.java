package dev.tidepool.runtime.order;

/**
 * The payload of an {@link Operation} whose bytes may be transferred together with others. Only the
 * code that moves the bytes looks into it, not the code that orders operations.
 */
public interface Coalescable {}
