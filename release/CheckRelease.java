import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * Checks that a repository has what Maven Central demands of a release: of each artifact a complete
 * POM, of each jar its sources and Javadoc, and of each file checksums and a signature.
 *
 * <p>Arguments: the folder of the repository, and the version.
 */
final class CheckRelease {
  private static final List<String> DEMANDED =
      List.of("name", "description", "url", "licenses", "developers", "scm");

  private final List<String> faults = new ArrayList<>();

  private CheckRelease() {}

  public static void main(String[] arguments) throws Exception {
    Path artifacts = Path.of(arguments[0]).resolve("dev/tidepool");
    String version = arguments[1];
    CheckRelease check = new CheckRelease();
    int count = 0;
    try (Stream<Path> folders = Files.list(artifacts)) {
      for (Path folder : folders.sorted().toList()) {
        check.artifact(folder.getFileName().toString(), folder.resolve(version));
        count++;
      }
    }
    check.faults.forEach(System.err::println);
    if (!check.faults.isEmpty() || count == 0) {
      System.err.println(check.faults.size() + " faults in " + count + " artifacts of " + artifacts);
      System.exit(1);
    }
    System.out.println(count + " artifacts of version " + version + " are complete");
  }

  private void artifact(String name, Path folder) throws Exception {
    List<Path> files;
    try (Stream<Path> all = Files.list(folder)) {
      files = all.filter(file -> !file.getFileName().toString().startsWith("maven-")).toList();
    }
    Path pom = files.stream().filter(file -> file.toString().endsWith(".pom")).findAny().orElseThrow();
    if (pom(name, pom).equals("jar")) {
      for (String kind : List.of("", "-sources", "-javadoc")) {
        String jar = pom.toString().replaceAll("\\.pom$", kind + ".jar");
        if (!Files.exists(Path.of(jar))) {
          faults.add("missing: " + jar);
        }
      }
    }
    for (Path file : files) {
      if (!file.toString().matches(".*\\.(asc|md5|sha1)")) {
        for (String beside : List.of(".asc", ".md5", ".sha1")) {
          if (!Files.exists(Path.of(file + beside))) {
            faults.add("missing: " + file + beside);
          }
        }
      }
    }
  }

  /** Checks a POM, and returns its packaging. What its parent has is checked there. */
  private String pom(String name, Path file) throws Exception {
    Document document =
        DocumentBuilderFactory.newDefaultInstance().newDocumentBuilder().parse(file.toFile());
    Element project = document.getDocumentElement();
    boolean isChild = child(project, "parent") != null;
    for (String element : DEMANDED) {
      boolean isOwn = element.equals("name") || element.equals("description");
      if (child(project, element) == null && (isOwn || !isChild)) {
        faults.add(name + " has no <" + element + "> in " + file);
      }
    }
    Node packaging = child(project, "packaging");
    return packaging == null ? "jar" : packaging.getTextContent();
  }

  private static Node child(Element parent, String name) throws IOException {
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (node.getNodeName().equals(name)) {
        return node;
      }
    }
    return null;
  }
}
