package dev.tidepool.methods.c;

/**
 * What a device can do.
 *
 * @param fp64 whether it has doubles
 * @param exactFloatDivision whether {@code /} and {@code sqrt} of floats are correctly rounded
 * @param longAtomics whether it has atomic operations of 64 bits
 * @param name what messages call it
 */
public record DeviceLimits(
    boolean fp64, boolean exactFloatDivision, boolean longAtomics, String name) {}
