package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NvrtcPlacesTest {
  @TempDir private Path root;

  private Path file(String name) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.createFile(file);
  }

  private List<String> candidates(Map<String, String> environment) {
    return new NvrtcPlaces(environment, root.resolve("home")).candidates();
  }

  @Test
  void aToolkitComesBeforeTheLoaderAndThatBeforePythons() throws IOException {
    Path toolkit = file("toolkit/lib64/libnvrtc.so.12");
    Path python = file("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    List<String> found =
        candidates(
            Map.of(
                "CUDA_HOME", root.resolve("toolkit").toString(),
                "VIRTUAL_ENV", root.resolve("venv").toString()));
    assertThat(found).containsSubsequence(toolkit.toString(), "libnvrtc.so.13", python.toString());
  }

  @Test
  void everyKindOfPythonEnvironmentIsLookedInto() throws IOException {
    List<Path> files =
        List.of(
            file("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            file("conda/lib/libnvrtc.so.11.2"),
            file("home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"),
            file("python/lib/python3.10/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
    Path python = file("python/bin/python3");
    assertThat(python.toFile().setExecutable(true)).isTrue();
    // What is on the path is often a link.
    Path path = Files.createDirectories(root.resolve("path"));
    Files.createSymbolicLink(path.resolve("python3"), python);
    List<String> found =
        candidates(
            Map.of(
                "VIRTUAL_ENV", root.resolve("venv").toString(),
                "CONDA_PREFIX", root.resolve("conda").toString(),
                "PATH", path.toString()));
    assertThat(found).containsSubsequence(files.stream().map(NvrtcPlacesTest::real).toList());
  }

  @Test
  void aVirtualEnvironmentOnThePathIsLookedIntoThoughItsPythonIsALink() throws IOException {
    Path wheel = file("env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    Path python = file("system/bin/python3.12");
    assertThat(python.toFile().setExecutable(true)).isTrue();
    Path path = Files.createDirectories(root.resolve("env/bin"));
    Files.createSymbolicLink(path.resolve("python3"), python);
    assertThat(candidates(Map.of("PATH", path.toString()))).contains(real(wheel));
  }

  private static String real(Path file) {
    try {
      return file.toRealPath().toString();
    } catch (IOException gone) {
      throw new AssertionError(gone);
    }
  }

  @Test
  void theNewestOfAFolderComesFirstAndItsOtherHalfIsNone() throws IOException {
    file("named/libnvrtc.so.11.2");
    file("named/libnvrtc.so.12");
    file("named/libnvrtc-builtins.so.12.4");
    file("named/libnvrtc.alt.so.13");
    assertThat(NvrtcPlaces.candidatesIn(root.resolve("named")))
        .containsExactly(
            root.resolve("named/libnvrtc.so.12").toString(),
            root.resolve("named/libnvrtc.so.11.2").toString());
  }

  @Test
  void whatIsNewerThanTheDriverByAMajorVersionIsTakenLast() {
    List<String> found =
        List.of("/a/libnvrtc.so.13", "/b/libnvrtc.so.12.8", "libnvrtc.so", "nvrtc64_130_0.dll");
    assertThat(NvrtcPlaces.fitting(found, 12))
        .containsExactly(
            "/b/libnvrtc.so.12.8", "libnvrtc.so", "/a/libnvrtc.so.13", "nvrtc64_130_0.dll");
    assertThat(NvrtcPlaces.fitting(found, 13)).isEqualTo(found);
  }

  @Test
  void aFileOrAToolkitMayBeNamed() throws IOException {
    Path file = file("toolkit/lib64/libnvrtc.so");
    assertThat(NvrtcPlaces.candidatesIn(file)).containsExactly(file.toString());
    assertThat(NvrtcPlaces.candidatesIn(root.resolve("toolkit"))).containsExactly(file.toString());
  }
}
