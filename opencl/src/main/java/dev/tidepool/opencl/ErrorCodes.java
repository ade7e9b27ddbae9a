package dev.tidepool.opencl;

import static java.util.Map.entry;

import dev.tidepool.AcceleratorException;
import java.util.Map;

/**
 * The return codes of OpenCL by their names in {@code cl.h}, {@code cl_ext.h} and {@code cl_gl.h},
 * so that the name in an error message can be looked up in the specification.
 */
final class ErrorCodes {
  static final int CL_SUCCESS = 0;
  static final int CL_DEVICE_NOT_FOUND = -1;
  static final int CL_MEM_OBJECT_ALLOCATION_FAILURE = -4;
  static final int CL_OUT_OF_RESOURCES = -5;
  static final int CL_OUT_OF_HOST_MEMORY = -6;
  static final int CL_MAP_FAILURE = -12;
  static final int CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14;
  static final int CL_DEVICE_NOT_AVAILABLE = -2;
  static final int CL_INVALID_KERNEL_NAME = -46;
  static final int CL_INVALID_WORK_GROUP_SIZE = -54;
  static final int CL_INVALID_WORK_ITEM_SIZE = -55;
  static final int CL_INVALID_BUFFER_SIZE = -61;
  static final int CL_PLATFORM_NOT_FOUND_KHR = -1001;
  static final int CL_CONTEXT_TERMINATED = -1121;
  static final int NVIDIA_ILLEGAL_BUFFER_READ_OR_WRITE = -9999;

  private static final Map<Integer, String> NAMES =
      Map.ofEntries(
          entry(0, "CL_SUCCESS"),
          entry(-1, "CL_DEVICE_NOT_FOUND"),
          entry(-2, "CL_DEVICE_NOT_AVAILABLE"),
          entry(-3, "CL_COMPILER_NOT_AVAILABLE"),
          entry(-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
          entry(-5, "CL_OUT_OF_RESOURCES"),
          entry(-6, "CL_OUT_OF_HOST_MEMORY"),
          entry(-7, "CL_PROFILING_INFO_NOT_AVAILABLE"),
          entry(-8, "CL_MEM_COPY_OVERLAP"),
          entry(-9, "CL_IMAGE_FORMAT_MISMATCH"),
          entry(-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"),
          entry(-11, "CL_BUILD_PROGRAM_FAILURE"),
          entry(-12, "CL_MAP_FAILURE"),
          entry(-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
          entry(-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"),
          entry(-15, "CL_COMPILE_PROGRAM_FAILURE"),
          entry(-16, "CL_LINKER_NOT_AVAILABLE"),
          entry(-17, "CL_LINK_PROGRAM_FAILURE"),
          entry(-18, "CL_DEVICE_PARTITION_FAILED"),
          entry(-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"),
          entry(-30, "CL_INVALID_VALUE"),
          entry(-31, "CL_INVALID_DEVICE_TYPE"),
          entry(-32, "CL_INVALID_PLATFORM"),
          entry(-33, "CL_INVALID_DEVICE"),
          entry(-34, "CL_INVALID_CONTEXT"),
          entry(-35, "CL_INVALID_QUEUE_PROPERTIES"),
          entry(-36, "CL_INVALID_COMMAND_QUEUE"),
          entry(-37, "CL_INVALID_HOST_PTR"),
          entry(-38, "CL_INVALID_MEM_OBJECT"),
          entry(-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"),
          entry(-40, "CL_INVALID_IMAGE_SIZE"),
          entry(-41, "CL_INVALID_SAMPLER"),
          entry(-42, "CL_INVALID_BINARY"),
          entry(-43, "CL_INVALID_BUILD_OPTIONS"),
          entry(-44, "CL_INVALID_PROGRAM"),
          entry(-45, "CL_INVALID_PROGRAM_EXECUTABLE"),
          entry(-46, "CL_INVALID_KERNEL_NAME"),
          entry(-47, "CL_INVALID_KERNEL_DEFINITION"),
          entry(-48, "CL_INVALID_KERNEL"),
          entry(-49, "CL_INVALID_ARG_INDEX"),
          entry(-50, "CL_INVALID_ARG_VALUE"),
          entry(-51, "CL_INVALID_ARG_SIZE"),
          entry(-52, "CL_INVALID_KERNEL_ARGS"),
          entry(-53, "CL_INVALID_WORK_DIMENSION"),
          entry(-54, "CL_INVALID_WORK_GROUP_SIZE"),
          entry(-55, "CL_INVALID_WORK_ITEM_SIZE"),
          entry(-56, "CL_INVALID_GLOBAL_OFFSET"),
          entry(-57, "CL_INVALID_EVENT_WAIT_LIST"),
          entry(-58, "CL_INVALID_EVENT"),
          entry(-59, "CL_INVALID_OPERATION"),
          entry(-60, "CL_INVALID_GL_OBJECT"),
          entry(-61, "CL_INVALID_BUFFER_SIZE"),
          entry(-62, "CL_INVALID_MIP_LEVEL"),
          entry(-63, "CL_INVALID_GLOBAL_WORK_SIZE"),
          entry(-64, "CL_INVALID_PROPERTY"),
          entry(-65, "CL_INVALID_IMAGE_DESCRIPTOR"),
          entry(-66, "CL_INVALID_COMPILER_OPTIONS"),
          entry(-67, "CL_INVALID_LINKER_OPTIONS"),
          entry(-68, "CL_INVALID_DEVICE_PARTITION_COUNT"),
          entry(-69, "CL_INVALID_PIPE_SIZE"),
          entry(-70, "CL_INVALID_DEVICE_QUEUE"),
          entry(-71, "CL_INVALID_SPEC_ID"),
          entry(-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"),
          entry(-1000, "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR"),
          entry(-1001, "CL_PLATFORM_NOT_FOUND_KHR"),
          entry(-1057, "CL_DEVICE_PARTITION_FAILED_EXT"),
          entry(-1058, "CL_INVALID_PARTITION_COUNT_EXT"),
          entry(-1059, "CL_INVALID_PARTITION_NAME_EXT"),
          entry(-1094, "CL_INVALID_ACCELERATOR_INTEL"),
          entry(-1095, "CL_INVALID_ACCELERATOR_TYPE_INTEL"),
          entry(-1096, "CL_INVALID_ACCELERATOR_DESCRIPTOR_INTEL"),
          entry(-1097, "CL_ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL"),
          entry(-1108, "CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM"),
          entry(-1121, "CL_CONTEXT_TERMINATED_KHR"),
          entry(-1138, "CL_INVALID_COMMAND_BUFFER_KHR"),
          entry(-1139, "CL_INVALID_SYNC_POINT_WAIT_LIST_KHR"),
          entry(-1140, "CL_INCOMPATIBLE_COMMAND_QUEUE_KHR"),
          entry(-1141, "CL_INVALID_MUTABLE_COMMAND_KHR"),
          entry(-1142, "CL_INVALID_SEMAPHORE_KHR"),
          // In no header; NVIDIA's driver returns it for an illegal access in a kernel.
          entry(NVIDIA_ILLEGAL_BUFFER_READ_OR_WRITE, "NVIDIA_ILLEGAL_BUFFER_READ_OR_WRITE"));

  private ErrorCodes() {}

  /** Returns the header's name of the code, or a text with its number if no header names it. */
  static String nameOf(int code) {
    String name = NAMES.get(code);
    return name == null ? "OpenCL error " + code : name;
  }

  /** Returns what most likely happened and what to do next. */
  static String adviceFor(int code) {
    return switch (code) {
      case CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES ->
          "the device has too little memory left for it; close buffers or work on smaller ones";
      case CL_OUT_OF_HOST_MEMORY ->
          "the driver has too little host memory left; close buffers or work on smaller ones";
      case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ->
          "a command that it waited for had failed; the first failure names the cause";
      case CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE ->
          "the group size does not suit the kernel on this device; use a smaller one, or none";
      case CL_DEVICE_NOT_AVAILABLE, CL_CONTEXT_TERMINATED ->
          "the device is gone; close everything that uses it and open it again";
      default ->
          "the driver gave no detail; run 'tidepool selftest', and report it if that fails too";
    };
  }

  /** Returns whether the same call may succeed later. */
  static AcceleratorException.Kind kindOf(int code) {
    return switch (code) {
      case CL_MEM_OBJECT_ALLOCATION_FAILURE,
          CL_OUT_OF_RESOURCES,
          CL_OUT_OF_HOST_MEMORY,
          CL_MAP_FAILURE ->
          AcceleratorException.Kind.TRANSIENT;
      case CL_DEVICE_NOT_AVAILABLE, CL_CONTEXT_TERMINATED, NVIDIA_ILLEGAL_BUFFER_READ_OR_WRITE ->
          AcceleratorException.Kind.DEVICE_LOST;
      default -> AcceleratorException.Kind.PERMANENT;
    };
  }

  /** Returns whether an allocation that returned this code may succeed once memory is returned. */
  static boolean isOutOfMemory(int code) {
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE
        || code == CL_OUT_OF_RESOURCES
        || code == CL_OUT_OF_HOST_MEMORY;
  }
}
