# Shared by the set-up scripts: messages and the choice of a Python. Sourced, never run.

say() { printf '\033[1m%s\033[0m %s\n' 'espalier:' "$*" >&2; }
fail() { printf '\033[1;31mespalier:\033[0m %s\n' "$*" >&2; exit 1; }

# Prints the interpreter the environments are made from: the first that is at least 3.11, can make
# environments (ensurepip) and has the headers the binding is compiled with. The machine's `python3` need not be
# the distribution's, nor the newest, hence the list. PYTHON=… overrides it. Returns 1 when there is none.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3}; do
        if "$candidate" - 2>/dev/null <<'PROBE'
import ensurepip, pathlib, sys, sysconfig, venv
headers = pathlib.Path(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 11) or not headers.exists())
PROBE
        then
            # The real file, not a version manager's shim, whose answer depends on the current folder.
            "$candidate" -c 'import sys; print(sys.executable)'
            return 0
        fi
    done
    return 1
}
