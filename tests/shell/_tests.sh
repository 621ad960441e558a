# shellcheck shell=bash
# To be sourced: what the tests of the shell share. $TSH is the program. A test
# file ends with `finish`, which prints "N passed, N failed".
: "${TSH:=tsh}"
passed=0
failed=0
dir=$(mktemp -d)
# A path is made absolute, since tests change folders; a plain name is sought.
case $TSH in */*) TSH=$(realpath "$TSH") ;; esac
if ! command -v "$TSH" >/dev/null; then
  echo "TSH names no program: $TSH" >&2
  exit 1
fi
export HOME=$dir XDG_DATA_HOME=$dir/data LC_ALL=C.UTF-8
unset TSH_DEVICE TSH_THREADS TSH_PLUGIN_PATH TSH_MEM_LIMIT TSH_LOG TSH_INIT
unset CLICOLOR_FORCE NO_COLOR VISUAL EDITOR
cleanup() { rm -rf "$dir"; }
trap cleanup EXIT

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  echo "FAIL $1"
  shift
  printf '  %s\n' "$@"
}

# run COMMAND...: leaves $rc, $out and $err. stdin is empty unless redirected.
run() {
  rc=0
  out=$("$@" 2>"$dir/err") || rc=$?
  err=$(cat "$dir/err")
}

# is NAME GOT WANT
is() {
  if [ "$2" = "$3" ]; then pass; else fail "$1" "got:  $2" "want: $3"; fi
}

# has NAME TEXT PART: PART is plain text.
has() {
  case $2 in
  *"$3"*) pass ;;
  *) fail "$1" "got:  $2" "want a text with: $3" ;;
  esac
}

lacks() {
  case $2 in
  *"$3"*) fail "$1" "got:  $2" "want a text without: $3" ;;
  *) pass ;;
  esac
}

# gives NAME STATUS STDOUT: of the last run, with nothing on stderr.
gives() {
  if [ "$rc" = "$2" ] && [ "$out" = "$3" ] && [ -z "$err" ]; then
    pass
  else
    fail "$1" "got:  $rc, stdout: $out" "stderr: $err" "want: $2, stdout: $3"
  fi
}

# refuses NAME STATUS PART: nothing on stdout, PART in stderr.
refuses() {
  if [ "$rc" = "$2" ] && [ -z "$out" ] && [[ $err = *"$3"* ]]; then
    pass
  else
    fail "$1" "got:  $rc, stdout: $out" "stderr: $err" "want: $2, stderr: $3"
  fi
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
