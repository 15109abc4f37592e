# shellcheck shell=bash disable=SC2154 # the scripts that source this file set the variables
# Programs of other projects for the tests: packages of npm, PyPI, Go and Maven. They are installed into the folder $cache
# once, in the versions that the lock files in the folder $here pin. Without them a test is skipped.

# skip WHY: ends the test; ctest knows by the exit code that it was skipped.
skip() {
  echo "skipped: $1"
  exit 77
}

# once NAME FILE… -- COMMAND…: runs the command in the folder $cache/NAME, unless it has succeeded there with these
# files.
once() {
  local folder=$cache/$1 files=()
  shift
  while [ "$1" != -- ]; do
    files+=("$1")
    shift
  done
  shift
  mkdir -p "$folder"
  local pinned
  pinned=$(cat "${files[@]}" | sha256sum)
  exec 9>"$folder.lock"
  flock 9
  if [ "$(cat "$folder.installed" 2>/dev/null)" != "$pinned" ]; then
    rm -rf "$folder" "$folder.installed"
    mkdir -p "$folder"
    (cd "$folder" && cp "${files[@]}" . && "$@") >"$folder.log" 2>&1 || {
      tail -3 "$folder.log"
      skip "the packages for ${folder##*/} can't be had; $folder.log says more"
    }
    echo "$pinned" >"$folder.installed"
  fi
  flock -u 9
}

provide_node() {
  local program
  for program in node npm; do command -v "$program" >/dev/null || skip "no $program"; done
  once node "$here/package.json" "$here/package-lock.json" -- npm ci --silent --no-audit --no-fund
  PATH=$cache/node/node_modules/.bin:$PATH
}

make_python_environment() {
  python3 -m venv . && bin/pip install --quiet --disable-pip-version-check -r requirements.txt
}

provide_python() {
  command -v python3 >/dev/null || skip "no python3"
  python3 -c 'import ensurepip, venv' 2>/dev/null || skip "no venv for python3"
  once python "$here/requirements.txt" -- make_python_environment
  PATH=$cache/python/bin:$PATH
}

find_go() {
  # The Go of Debian 12 is older than what go.mod asks for, and isn't replaced by a download.
  export GOTOOLCHAIN=local GOFLAGS=-mod=readonly CGO_ENABLED=0
  command -v go >/dev/null || skip "no go"
  (cd "$here/go" && go list -m >/dev/null 2>&1) || skip "go is older than go/go.mod asks for"
}
