#!/usr/bin/env bash
# Creates the control side's own environment under RUNNER_TEMP and tells where its interpreter is.
#
# Decides which Python makes it, and where packages come from. Installs nothing into the user's interpreter, writes
# nothing into the action's directory, and sets no variable of the job: its only product is the output `control`.
#
# (1) check the inputs; (2) find a Python that can make environments; (3) make one; (4) install; (5) tell.
set -euo pipefail

# An error is one line: got, wanted, next. Codes: 2 wrong usage, 3 this machine cannot do it.
refuse() {
  local code=$1 text="got $2; wanted $3; next: $4"
  text=${text//\%/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::error title=opsdebug%%3A set-up::%s\n' "$text"
  printf 'verdict=error\nexit-code=%s\n' "$code" >> "$GITHUB_OUTPUT"
  exit "$code"
}

# Variables that would let the workspace, or the user's pip habits, into the new environment.
isolated() {
  env -u PYTHONPATH -u PYTHONHOME -u PYTHONSTARTUP -u PYTHONUSERBASE -u VIRTUAL_ENV \
    -u PIP_USER -u PIP_TARGET -u PIP_PREFIX -u PIP_ROOT -u PIP_CONSTRAINT -u PIP_REQUIRE_VIRTUALENV "$@"
}

# (1)
wheelhouse=${OPSDEBUG_INPUT_WHEELHOUSE:-}
if [[ -n $wheelhouse ]]; then
  [[ -d $wheelhouse ]] ||
    refuse 2 "\`wheelhouse\` \"$wheelhouse\"" "a directory of wheels" "fill it with: pip wheel --wheel-dir DIRECTORY PATH-OF-THIS-ACTION setuptools"
  wheelhouse=$(CDPATH='' cd -- "$wheelhouse" > /dev/null && pwd)
fi
temporary=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
work=$(mktemp -d "$temporary/opsdebug-control-XXXXXX" 2> /dev/null) ||
  refuse 3 "RUNNER_TEMP \"$temporary\", where nothing can be written" "a writable directory" "free space on the runner, or make the directory writable"
log=$work/bootstrap.log

# (2) A candidate counts only if it runs: some systems have a `python3` that is a shop window.
probe='import sys, venv, ensurepip
if sys.version_info < (3, 11): sys.exit("it is Python %d.%d" % sys.version_info[:2])'
creator=""
for candidate in python3 python python3.14 python3.13 python3.12 python3.11 "${OPSDEBUG_INPUT_PYTHON:-}"; do
  [[ -n $candidate && $candidate != -* ]] || continue
  printf '%s: ' "$candidate" >> "$log"
  if isolated "$candidate" -I -c "$probe" >> "$log" 2>&1; then
    creator=$candidate
    break
  fi
done
[[ -n $creator ]] ||
  refuse 3 "$(tr -s '[:space:]' ' ' < "$log" | head -c 1000)" "a Python >= 3.11 with venv and ensurepip on PATH" "add a step that sets up Python before this one, or install python3-venv"

# (3) Without a pip of its own where ours can run the one of that Python, as `pip --python` does: to unpack and compile
# another takes longer than all the rest. Not one whose libraries lie elsewhere, where ours does not look.
whole='import os, pip._vendor
if not pip._vendor.DEBUNDLED: print(os.path.join(os.path.dirname(pip.__file__), "__pip-runner__.py"))'
runner=$(isolated "$creator" -I -c "$whole" 2>> "$log") || runner=""
venv=(-m venv)
if [[ -f $runner ]]; then venv+=(--without-pip); fi
if ! isolated "$creator" -I "${venv[@]}" "$work/venv" >> "$log" 2>&1; then
  refuse 3 "$(tail -n 3 "$log")" "an environment made by $creator ${venv[*]}" "run that command on the runner by hand"
fi
control=$work/venv/bin/python
[[ -x $control ]] || control=$work/venv/Scripts/python.exe
pip=("$control" -I -m pip)
if [[ -f $runner ]]; then pip=("$control" -I -B "$runner"); fi # -B: nothing is written beside it

# (4) Of the versions that were reviewed, by their hashes, and nothing besides: jobs that write have a token. A job that
# only tells what others found needs neither arrays nor a database, and somebody waits for its comment. From a wheelhouse,
# as it was filled.
options=(--disable-pip-version-check --no-input --no-compile --quiet)
install() { isolated "${pip[@]}" install "${options[@]}" "$@" >> "$log" 2>&1; }
lock=control
if [[ ${OPSDEBUG_INPUT_PUBLISH:-} == true && -z ${OPSDEBUG_INPUT_STORE:-} ]]; then lock=publish; fi
installed=true
if [[ -n $wheelhouse ]]; then
  # From a copy, since a build writes beside the sources; from its own directory, so that nothing else is importable.
  mkdir "$work/source"
  for name in opsdebug_ci pyproject.toml README.md LICENSE; do
    if [[ -e $GITHUB_ACTION_PATH/$name ]]; then cp -R "$GITHUB_ACTION_PATH/$name" "$work/source/"; fi
  done
  (CDPATH='' cd -- "$work/source" && install --no-index --find-links "$wheelhouse" .) || installed=false
  rm -rf "$work/source"
else
  (CDPATH='' cd -- "$work" && install --no-deps --require-hashes --requirement "$GITHUB_ACTION_PATH/.github/action/$lock.lock") || installed=false
  packages=$("$control" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cp -R "$GITHUB_ACTION_PATH/opsdebug_ci" "$packages/"
fi
if [[ $installed == false ]]; then
  stop="opsdebug_${RANDOM}${RANDOM}${RANDOM}${RANDOM}"
  printf '::stop-commands::%s\n' "$stop"
  tail -n 40 "$log"
  printf '\n::%s::\n' "$stop"
  reason=$(grep -oE 'ERROR: .*' "$log" | head -n 1) || reason="a failing pip; its log is above"
  refuse 3 "$reason" "the dependencies of opsdebug-ci" "give the runner a package index, or fill a directory of wheels and name it in the \`wheelhouse\` input"
fi

# (5)
printf 'control=%s\n' "$control" >> "$GITHUB_OUTPUT"
