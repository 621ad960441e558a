# shellcheck shell=bash
# To be sourced: runs suites and sums what they report. The caller sets $logs,
# a folder. A suite tells its counts in a closing line "N passed, N failed" or
# in Criterion's "Synthesis" line; it fails also when it ran nothing, when it
# ends with another status than its counts say, when it takes too long, and
# when a sanitizer wrote a report: a leak does not change the exit status of a
# Criterion program, so the reports go to files, which are looked for.
passed=0
failed=0

# Prints "PASSED FAILED" of the last closing line in the file $1.
counts() {
  awk '
    /^\[====\] Synthesis: Tested: / {
      gsub(/[^0-9]+/, " ")
      p = $2; f = $1 - $2
    }
    /^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 }
    END { print p + 0, f + 0 }' "$1"
}

closing_line() {
  echo "$passed passed, $failed failed"
}

# under_watch LOG COMMAND...: malloc may fail under ASan, as it may without.
under_watch() {
  local log=$1
  shift
  ASAN_OPTIONS=log_path=$log.san:detect_leaks=1:allocator_may_return_null=1 \
    UBSAN_OPTIONS=log_path=$log.san:print_stacktrace=1 \
    timeout -k 10 "${SUITE_LIMIT:-600}" "$@" </dev/null 2>&1
}

# Did a sanitizer say more than that an allocation failed, which is no fault, or
# that the check for leaks met a thread which was about to end?
sanitizer_reported() {
  compgen -G "$1.san.*" >/dev/null &&
    awk '!/WARNING: AddressSanitizer failed to allocate/ &&
         !/Running thread [0-9]+ was not suspended/ && NF { found = 1 }
      END { exit !found }' "$1".san.*
}

# suite [-v] NAME COMMAND...: -v shows the output while it comes; else it is
# shown when the suite fails.
suite() {
  local live='' name log p f rc=0 why='' begin=$SECONDS
  if [ "$1" = -v ]; then live=1 && shift; fi
  # shellcheck disable=SC2154 # logs is the caller's
  name=$1 log=$logs/${1//[\/ ]/-}
  shift
  rm -f "$log".san.*
  if [ -n "$live" ]; then
    under_watch "$log" "$@" | tee "$log.log" || rc=${PIPESTATUS[0]}
  else
    under_watch "$log" "$@" >"$log.log" || rc=$?
  fi
  read -r p f <<<"$(counts "$log.log")"
  if [ "$rc" = 124 ]; then
    why='took too long'
  elif [ "$rc" != 0 ] && [ "$f" = 0 ]; then
    why="exit status $rc"
  elif [ "$rc" = 0 ] && [ "$f" != 0 ]; then
    why='exit status 0 in spite of failures'
  elif [ $((p + f)) = 0 ]; then
    why='no test ran'
  elif sanitizer_reported "$log"; then
    why='sanitizer report'
  fi
  if [ -n "$why" ]; then f=$((f + 1)); fi
  passed=$((passed + p)) failed=$((failed + f))
  printf '%-32s %6d passed %4d failed %4d s  %s\n' "$name" "$p" "$f" \
    $((SECONDS - begin)) "$why"
  if [ "$f" != 0 ]; then
    if [ -z "$live" ]; then tail -n 100 "$log.log"; fi
    cat "$log".san.* 2>/dev/null || true
  fi
}

# step NAME COMMAND...: one test; status 0 passes, 77 is "cannot be done here".
step() {
  local name=$1 rc=0 result
  shift
  "$@" || rc=$?
  case $rc in
  0) result=passed passed=$((passed + 1)) ;;
  77) result=skipped ;;
  *) result=FAILED failed=$((failed + 1)) ;;
  esac
  printf '%-32s %s\n' "$name" "$result"
}
