package dev.tidepool.expression.types;

/**
 * What generated C may count on.
 *
 * @param fp64 whether the device computes in double
 * @param exactFloatDivision whether {@code /} and {@code sqrt} of floats are correctly rounded, on
 *     OpenCL: the device reports {@code CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT} and the build passes
 *     {@code -cl-fp32-correctly-rounded-divide-sqrt}. Otherwise they are computed in double
 */
public record DeviceTraits(boolean fp64, boolean exactFloatDivision) {}
