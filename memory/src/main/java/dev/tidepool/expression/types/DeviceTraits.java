package dev.tidepool.expression.types;

/**
 * The capabilities on which generated C relies.
 *
 * @param fp64 whether the device computes in double
 * @param exactFloatDivision whether {@code /} and {@code sqrt} of floats are correctly rounded. On
 *     OpenCL, the device then reports {@code CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT} and the build
 *     passes {@code -cl-fp32-correctly-rounded-divide-sqrt}. If false, they are computed in double
 */
public record DeviceTraits(boolean fp64, boolean exactFloatDivision) {}
