import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/**
 * Checks that a repository has what a release consists of: all artifacts of the BOM, of each a
 * complete POM, of each jar its sources, Javadoc, lists of components and the licence, and of each
 * file checksums and a signature. Maven Central demands all but the lists and the licence.
 *
 * <p>Arguments: the folder of the repository, the version, and {@code --unsigned} if nothing was
 * signed.
 */
final class CheckRelease {
  private static final String BOM = "tidepool-bom";

  private static final List<String> DEMANDED =
      List.of("name", "description", "url", "licenses", "developers", "scm");

  private static final List<String> BESIDE_A_POM =
      List.of(".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json", "-cyclonedx.xml");

  private final Path artifacts;
  private final String version;
  private final List<String> besideFiles;
  private final List<String> faults = new ArrayList<>();

  private CheckRelease(Path artifacts, String version, boolean signed) {
    this.artifacts = artifacts;
    this.version = version;
    this.besideFiles = signed ? List.of(".asc", ".md5", ".sha1") : List.of(".md5", ".sha1");
  }

  public static void main(String[] arguments) throws Exception {
    Path artifacts = Path.of(arguments[0]).resolve("dev/tidepool");
    boolean signed = !List.of(arguments).contains("--unsigned");
    CheckRelease check = new CheckRelease(artifacts, arguments[1], signed);
    Set<String> names = check.names();
    for (String name : names) {
      check.artifact(name);
    }
    check.faults.forEach(System.err::println);
    if (!check.faults.isEmpty()) {
      System.err.println(
          check.faults.size() + " faults in " + names.size() + " artifacts of " + artifacts);
      System.exit(1);
    }
    System.out.println(
        names.size()
            + " artifacts of version "
            + check.version
            + (signed ? " are complete" : " are complete but for signatures"));
  }

  /** The BOM, what it lists, and what else the repository has. */
  private Set<String> names() throws Exception {
    Set<String> names = new TreeSet<>(Set.of(BOM));
    try (Stream<Path> folders = Files.list(artifacts)) {
      folders.forEach(folder -> names.add(folder.getFileName().toString()));
    }
    Optional<Path> bom = pomOf(BOM);
    if (bom.isPresent()) {
      NodeList listed =
          child(project(bom.get()), "dependencyManagement").getElementsByTagName("artifactId");
      for (int i = 0; i < listed.getLength(); i++) {
        names.add(listed.item(i).getTextContent());
      }
    }
    return names;
  }

  private void artifact(String name) throws Exception {
    Optional<Path> pom = pomOf(name);
    if (pom.isEmpty()) {
      faults.add("missing: a POM in " + folder(name));
      return;
    }
    if (packaging(name, pom.get()).equals("jar")) {
      licence(pom.get(), ".jar");
      licence(pom.get(), "-sources.jar");
      for (String ending : BESIDE_A_POM) {
        String file = pom.get().toString().replaceAll("\\.pom$", ending);
        if (!Files.exists(Path.of(file))) {
          faults.add("missing: " + file);
        }
      }
    }
    for (Path file : files(name)) {
      if (!file.toString().matches(".*\\.(asc|md5|sha1)")) {
        for (String ending : besideFiles) {
          if (!Files.exists(Path.of(file + ending))) {
            faults.add("missing: " + file + ending);
          }
        }
      }
    }
  }

  private void licence(Path pom, String ending) throws IOException {
    Path jar = Path.of(pom.toString().replaceAll("\\.pom$", ending));
    if (!Files.exists(jar)) {
      return; // Told elsewhere.
    }
    try (ZipFile file = new ZipFile(jar.toFile())) {
      if (file.getEntry("META-INF/LICENSE") == null) {
        faults.add("missing: META-INF/LICENSE in " + jar);
      }
    }
  }

  private Path folder(String name) {
    return artifacts.resolve(name).resolve(version);
  }

  /** What is deployed of an artifact; nothing if it has no folder. */
  private List<Path> files(String name) throws IOException {
    if (!Files.isDirectory(folder(name))) {
      return List.of();
    }
    try (Stream<Path> all = Files.list(folder(name))) {
      return all.filter(file -> !file.getFileName().toString().startsWith("maven-")).toList();
    }
  }

  private Optional<Path> pomOf(String name) throws IOException {
    return files(name).stream().filter(file -> file.toString().endsWith(".pom")).findAny();
  }

  private static Element project(Path pom) throws Exception {
    return DocumentBuilderFactory.newDefaultInstance()
        .newDocumentBuilder()
        .parse(pom.toFile())
        .getDocumentElement();
  }

  /** Checks a POM, and returns its packaging. What its parent has is checked there. */
  private String packaging(String name, Path pom) throws Exception {
    Element project = project(pom);
    Element parent = child(project, "parent");
    if (parent != null && pomOf(child(parent, "artifactId").getTextContent()).isEmpty()) {
      faults.add("missing: the parent of " + pom);
    }
    for (String element : DEMANDED) {
      boolean isOwn = element.equals("name") || element.equals("description");
      if (child(project, element) == null && (isOwn || parent == null)) {
        faults.add(name + " has no <" + element + "> in " + pom);
      }
    }
    Element packaging = child(project, "packaging");
    return packaging == null ? "jar" : packaging.getTextContent();
  }

  private static Element child(Element parent, String name) {
    for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
      if (node.getNodeName().equals(name)) {
        return (Element) node;
      }
    }
    return null;
  }
}
