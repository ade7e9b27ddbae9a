package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Device;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Errors are called what the headers call them. */
class ErrorCodesTest {
  private static final Path HEADER = Path.of("/usr/include/CL/cl.h");
  private static final Pattern ERROR = Pattern.compile("#define (CL_\\w+) +(-\\d+)");

  @Test
  void everyCodeOfTheHeaderHasItsName() throws Exception {
    assumeTrue(Files.exists(HEADER), "no " + HEADER + " here; apt install opencl-c-headers");
    String header = Files.readString(HEADER);
    String errors =
        header.substring(header.indexOf("/* Error Codes */"), header.indexOf("/* cl_bool */"));
    Map<Integer, String> codes =
        ERROR
            .matcher(errors)
            .results()
            .collect(
                java.util.stream.Collectors.toMap(
                    match -> Integer.valueOf(match.group(2)),
                    (MatchResult match) -> match.group(1)));
    assertThat(codes).hasSizeGreaterThan(60);
    codes.forEach((code, name) -> assertThat(ErrorCodes.nameOf(code)).isEqualTo(name));
  }

  @Test
  void aCodeThatNoHeaderNamesIsStillSaid() {
    assertThat(ErrorCodes.nameOf(-4711)).contains("-4711");
  }

  @Test
  void aMappingThatFailsMaySucceedLater() {
    assertThat(ErrorCodes.kindOf(ErrorCodes.CL_MAP_FAILURE))
        .isEqualTo(AcceleratorException.Kind.TRANSIENT);
  }

  @Test
  void aDriversRefusalNamesCallAndCode() {
    try (Device device = Pocl.device(Map.of())) {
      long context = ((OpenClDevice) device).context().handle();
      assertThatThrownBy(
              () ->
                  OpenCL.clCreateBuffer(
                      context, OpenCL.CL_MEM_READ_WRITE, 0, java.lang.foreign.MemorySegment.NULL))
          .isInstanceOfSatisfying(
              AcceleratorException.class,
              failure -> {
                assertThat(failure.call()).isEqualTo("clCreateBuffer");
                assertThat(failure.codeName()).isEqualTo("CL_INVALID_BUFFER_SIZE");
                assertThat(failure.code()).isEqualTo(-61);
              });
    }
  }
}
