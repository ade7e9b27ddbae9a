package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.Discovery;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is found, how it is called, and what is said about what is not. */
@ExtendWith(NothingLeaks.class)
class DiscoveryTest {

  @Test
  void theServiceLoaderFindsTheProvider() {
    assertThat(ServiceLoader.load(AcceleratorProvider.class))
        .filteredOn(OpenClProvider.class::isInstance)
        .singleElement()
        .extracting(AcceleratorProvider::name)
        .isEqualTo("opencl");
  }

  @Test
  void devicesAreNumberedFromZeroInTheirOrder() {
    List<Device> devices = Pocl.devices();
    for (int i = 0; i < devices.size(); i++) {
      assertThat(devices.get(i).info().id()).isEqualTo("opencl:" + i);
    }
    devices.forEach(Device::close);
  }

  @Test
  void aDeviceTellsWhatItIs() {
    try (Device device = Pocl.device(Map.of())) {
      DeviceInfo info = device.info();
      assertThat(info.name()).isNotBlank();
      assertThat(info.driver()).startsWith("OpenCL ");
      assertThat(info.kind()).isIn(AcceleratorKind.CPU, AcceleratorKind.GPU);
      assertThat(info.capabilities()).contains(Capability.OPENCL_KERNELS);
      assertThat(info.maximumAllocation()).isPositive();
      assertThat(device.memory().totalBytes()).isPositive();
    }
  }

  @Test
  void eachDiscoveryOpensDevicesOfItsOwn() {
    List<Device> first = Pocl.devices();
    List<Device> second = Pocl.devices();
    first.forEach(Device::close);
    try (var queue = second.getFirst().createQueue()) {
      queue.finish();
    }
    second.forEach(Device::close);
    second.forEach(Device::close);
  }

  @Test
  void graphicsProcessorsComeFirst() {
    List<AcceleratorKind> kinds =
        Pocl.devices().stream()
            .map(
                device -> {
                  device.close();
                  return device.info().kind();
                })
            .toList();
    List<AcceleratorKind> ranked =
        kinds.stream()
            .sorted(
                java.util.Comparator.comparingInt(
                    kind ->
                        List.of(AcceleratorKind.GPU, AcceleratorKind.OTHER, AcceleratorKind.CPU)
                            .indexOf(kind)))
            .toList();
    assertThat(kinds).isEqualTo(ranked);
  }

  @Test
  void aSettingThatIsNoneOfThoseAllowedIsNotedAndLeftAside() {
    Pocl.with(
        Map.of("tidepool.opencl.svm", "finest"),
        () -> {
          Discovery found = new OpenClProvider().discover();
          found.devices().forEach(Device::close);
          assertThat(found.notes())
              .anyMatch(
                  note -> note.contains("tidepool.opencl.svm=finest") && note.contains("fine,"));
          return found;
        });
  }

  @Test
  void anAbsentLibraryIsANoteAndNoDevice() throws Exception {
    OwnJvm.Result result =
        OwnJvm.run(
            PrintDiscovery.class, List.of("-Dtidepool.opencl.library=/nowhere/libOpenCL.so"));
    assertThat(result.output()).contains("0 devices").contains("/nowhere/libOpenCL.so");
    assertThat(result.status()).isZero();
  }

  @Test
  void aLibraryThatIsNoOpenClIsANoteAndNoDevice() throws Exception {
    OwnJvm.Result result =
        OwnJvm.run(
            PrintDiscovery.class, List.of("-Dtidepool.opencl.library=" + OwnJvm.someLibrary()));
    assertThat(result.output()).contains("0 devices").contains("clGetPlatformIDs");
    assertThat(result.status()).isZero();
  }

  @Test
  void deniedNativeAccessIsANoteThatNamesTheFlag() throws Exception {
    OwnJvm.Result result =
        OwnJvm.run(
            PrintDiscovery.class,
            List.of("--illegal-native-access=deny", "--enable-native-access=java.base"));
    assertThat(result.output()).contains("0 devices").contains("--enable-native-access");
    assertThat(result.status()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "MACOS, /System/Library/Frameworks/OpenCL.framework/OpenCL, macOS",
    "WINDOWS, OpenCL.dll, driver",
    "LINUX, libOpenCL.so.1, apt install",
    "OTHER, libOpenCL.so.1, driver"
  })
  void theLibraryIsLookedForByTheNameThatTheSystemHasForIt(
      OperatingSystem system, String name, String advice) {
    assertThat(OpenClLibrary.usualNames(system)).first().isEqualTo(name);
    assertThat(OpenClLibrary.advice(system)).contains(advice);
  }

  @Test
  void noDriverBehindTheLibraryIsANoteAndNoDevice() throws Exception {
    OwnJvm.Result result =
        OwnJvm.run(PrintDiscovery.class, List.of(), Map.of("OCL_ICD_VENDORS", "/nowhere"));
    assertThat(result.output()).contains("0 devices").contains("no driver");
    assertThat(result.status()).isZero();
  }

  /** What a program of its own finds. */
  static final class PrintDiscovery {
    public static void main(String[] arguments) {
      Discovery found = new OpenClProvider().discover();
      System.out.println(found.devices().size() + " devices");
      found.notes().forEach(System.out::println);
      found.devices().forEach(Device::close);
    }
  }

  /** A device that was unplugged between the two questions is no handle of 0. */
  @Test
  void whatVanishesWhileItIsListedIsLeftOut() {
    long[] listed =
        NativeCall.list(
            "clGetDeviceIDs",
            (capacity, handles, count) -> {
              if (handles.address() != 0) {
                handles.setAtIndex(ValueLayout.JAVA_LONG, 0, 42);
              }
              if (count.address() != 0) {
                count.set(ValueLayout.JAVA_INT, 0, capacity == 0 ? 2 : 1);
              }
              return ErrorCodes.CL_SUCCESS;
            });
    assertThat(listed).containsExactly(42);
  }
}
