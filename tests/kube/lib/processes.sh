# shellcheck shell=bash
# Parts as processes. A file in run/ has the id and the start time of a process, so that another process with the same
# id, even after a reboot, is never mistaken for it.

started_at() { # PID: clock ticks since the boot (proc(5), stat, field 22)
  local stat fields
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  read -ra fields <<<"${stat##*) }"
  [ "${fields[0]}" != Z ] || return 1
  echo "${fields[19]}"
}

process_of() { # NAME: the id of the part's process; fails where it doesn't run
  local pid moment
  { read -r pid moment <"$run/$1.pid"; } 2>/dev/null || return 1
  [ "$(started_at "$pid")" = "$moment" ] || return 1
  echo "$pid"
}

# A part whose pods run in the cluster has a function runs_PART instead of a process.
is_pod() { declare -F "runs_${1//-/_}" >/dev/null; }

is_running() {
  if is_pod "$1"; then "runs_${1//-/_}"; else process_of "$1" >/dev/null; fi
}

# A process whose first thread has ended counts as ended. Its sockets are closed with its last thread, a moment later.
check_ports_are_free() { # NAME PORT…
  local name=$1 port taken deadline=$((SECONDS + stop_limit))
  shift
  for port; do
    while taken=$(ss -Hltnp "sport = :$port") && [ -n "$taken" ]; do
      ((SECONDS < deadline)) || fail "$name can't start: port $port is taken: $taken"
      sleep 0.2
    done
  done
}

start() { # NAME "PORT…" COMMAND…: out of this terminal's reach, with its log in logs/NAME.log
  local name=$1 ports pid
  read -ra ports <<<"$2"
  shift 2
  check_ports_are_free "$name" "${ports[@]}"
  if [ -e "$logs/$name.log" ]; then mv "$logs/$name.log" "$logs/$name.previous.log"; fi
  (
    # The caller's locks and pipes would stay open as long as the part runs.
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      if ((fd > 2)); then exec {fd}>&-; fi
    done
    exec setsid "$@" </dev/null >"$logs/$name.log" 2>&1
  ) &
  pid=$!
  echo "$pid $(started_at "$pid" || true)" >"$run/$name.pid"
}

explain() {  # NAME WHAT: prints it with the end of the log, and exits
  echo "cluster: $1 $2. Its log, $logs/$1.log, ends with:" >&2
  tail -n 15 "$logs/$1.log" >&2 || true
  echo "cluster: 'cluster down' ends the parts that were started" >&2
  exit 1
}

await() {  # NAME CHECK…: waits until the check succeeds
  local name=$1 deadline=$((SECONDS + ready_limit))
  shift
  until "$@" >/dev/null 2>&1; do
    is_running "$name" || explain "$name" "ended while it was starting"
    ((SECONDS < deadline)) || explain "$name" "isn't ready after $ready_limit seconds"
    sleep 0.2
  done
  is_running "$name" || explain "$name" "ended while it was starting"
}

await_end() { # NAME SECONDS
  local deadline=$((SECONDS + $2))
  while is_running "$1"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.1
  done
}

stop() {  # NAME: asks the part to end, and kills it after a while
  local pid limit=${stop_limit_of[$1]:-$stop_limit}
  if pid=$(process_of "$1"); then
    kill "$pid" 2>/dev/null || true
    await_end "$1" "$limit" || {
      if ((limit == stop_limit)); then say "$1 didn't end within $limit seconds and is killed"; fi
      kill -KILL "$pid" 2>/dev/null || true
      await_end "$1" "$stop_limit" || fail "$1 (process $pid) can't be ended"
    }
  fi
  rm -f "$run/$1.pid"
}

# Everything from before a reboot has ended.
prepare_run_folder() {
  local boot
  boot=$(</proc/sys/kernel/random/boot_id)
  if [ "$(cat "$run/boot" 2>/dev/null)" != "$boot" ]; then
    rm -rf "$run"
    mkdir -p "$run"
    echo "$boot" >"$run/boot"
  fi
}
