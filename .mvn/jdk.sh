# For the scripts of this checkout, which source it with the checkout's folder in $root:
#
# find_jdk     sets jdk to the folder of a JDK that is new enough, and build to its version
# maven ...    runs Maven on that JDK, without tests and static checks, and shows how far it is

need=25

# Sets jdk and build when the folder holds a JDK that is new enough. Every JDK says its version in a
# file, which costs nothing to read; starting `java -version` would cost more than all the rest.
accept() {
  [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 1
  version= build=
  while IFS='=' read -r key value; do
    value=${value#\"} value=${value%\"}
    case $key in
      JAVA_VERSION) version=${value%%[!0-9]*} ;;
      JAVA_RUNTIME_VERSION) build=$value ;;
    esac
    [ -z "$version" ] || [ -z "$build" ] || break
  done <"$1/release"
  [ "${version:-0}" -ge "$need" ] || return 1
  jdk=$1 build=${build:-$version}
}

search_jdk() {
  [ -n "${JAVA_HOME:-}" ] && accept "$JAVA_HOME" && return
  # On macOS the command is a stub, and java_home tells where the JDKs are.
  java=$(command -v java) && {
    java=$(readlink -f "$java" 2>/dev/null || echo "$java")
    accept "${java%/bin/java}" && return
  }
  if [ -x /usr/libexec/java_home ]; then
    home=$(/usr/libexec/java_home -v "$need+" 2>/dev/null) && accept "$home" && return
  fi
  for home in /usr/lib/jvm/* /opt/java/* /opt/jdk* "${HOME:-}"/.sdkman/candidates/java/* \
    "${HOME:-}"/.jdks/* "${HOME:-}"/.local/share/mise/installs/java/* \
    /opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home \
    /usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home; do
    accept "$home" && return
  done
  return 1
}

find_jdk() {
  search_jdk && return
  echo "${0##*/}: needs a JDK $need or newer: none in JAVA_HOME, on the PATH or in /usr/lib/jvm." \
    "Install one (https://adoptium.net) or set JAVA_HOME to it." >&2
  exit 1
}

# Maven's own use of native code and of Unsafe does not concern users of a script. Of its log only the
# modules and the errors are shown, and what is not a line of the log.
maven() {
  {
    (
      cd "$root" &&
        JAVA_HOME=$jdk MAVEN_OPTS="--enable-native-access=ALL-UNNAMED \
--sun-misc-unsafe-memory-access=allow ${MAVEN_OPTS:-}" \
          ./mvnw -B -DskipTests "$@" </dev/null 2>&1
    )
    echo "exit code $?"
  } | {
    code=1
    while IFS= read -r line; do
      case $line in
        'exit code '*) code=${line#exit code } ;;
        '[INFO] Building Tidepool'*'['*/*']')
          # The name, without the version, and the count.
          name=${line#'[INFO] Building '}
          echo "  [${line##*'['} ${name% [0-9]*.*}" >&2
          ;;
        '[INFO]'* | '[WARNING]'* | '') ;;
        *) echo "$line" >&2 ;;
      esac
    done
    return "$code"
  }
}
