package dev.tidepool.methods.c;

/**
 * A kernel's source.
 *
 * <p>Its parameters are, for each array of the method, a pointer, an offset in elements (64 bits)
 * and a length (32 bits), and for each scalar its value; then the items of the range in three
 * dimensions (64 bits each); and if faults are reported, a pointer to ints and an offset in ints.
 *
 * @param source the text
 * @param entry the name of the kernel function
 * @param usesGroups whether the items must be exactly those of the range, in its groups; otherwise
 *     there may be more items, which do nothing
 * @param reportsFaults whether the kernel has the parameters for faults
 */
public record MethodText(String source, String entry, boolean usesGroups, boolean reportsFaults) {}
