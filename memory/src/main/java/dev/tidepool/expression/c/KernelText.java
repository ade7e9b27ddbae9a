package dev.tidepool.expression.c;

import java.util.List;

/**
 * A kernel's source.
 *
 * @param source the text
 * @param entry the name of the kernel function
 * @param parameterTypes the C types of its parameters, in order: pointer and offset in elements for
 *     each array, then each uniform, then the number of elements
 * @param elementsPerItem how many elements a work item computes: a group computes its size times
 *     that, one behind the other
 */
public record KernelText(
    String source, String entry, List<String> parameterTypes, int elementsPerItem) {}
