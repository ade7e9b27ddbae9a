package dev.tidepool.runtime.order;

/**
 * What {@link Operation} carries if its bytes may travel together with those of other work. Order
 * knows no more of it; those who move the bytes do.
 */
public interface Coalescable {}
