package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.FileNotFoundException;
import java.net.SocketException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.Test;

class FileErrorsTest {
  private static final String ADVICE =
      "too many files are open in this process (close some, or raise its limit, ulimit -n)";

  @Test
  void aProcessWithoutFileDescriptorsIsToldWhatToDo() {
    String said = "Too many open files";
    assertThat(FileErrors.reason(new FileSystemException("x.npy", null, said))).isEqualTo(ADVICE);
    assertThat(FileErrors.reason(new FileNotFoundException("x (" + said + ")"))).isEqualTo(ADVICE);
    assertThat(FileErrors.reason(new SocketException(said))).isEqualTo(ADVICE);
  }

  /** No process can raise that limit for itself. */
  @Test
  void aMachineWithoutFileDescriptorsIsNoMatterOfTheProcess() {
    String said = "Too many open files in system";
    assertThat(FileErrors.reason(new FileSystemException("x.npy", null, said))).isEqualTo(said);
  }
}
