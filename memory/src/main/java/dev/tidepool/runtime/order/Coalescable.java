package dev.tidepool.runtime.order;

/**
 * What {@link Operation} carries if its bytes may travel together with those of other work. The
 * code that orders operations knows no more of it; the code that moves the bytes does.
 */
public interface Coalescable {}
