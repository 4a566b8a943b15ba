#!/usr/bin/env bash
# Measures Mailer beside Postfix with OpenDKIM on this machine and prints a table
# in Markdown: bash app/testing/bench/testdata/versus.sh [ROUNDS [MESSAGES]]
#
# MAILER_BENCH_MADDY=PATH has that maddy, 0.6 or newer, take part beside Postfix,
# signing and not. MAILER_BENCH_LISTMONK=PATH measures a broadcast beside a
# campaign of that listmonk, 5 or newer, too, in a table of its own, to 40,000
# recipients or as many as MAILER_BENCH_RECIPIENTS says.
#
# It installs Debian's postfix and opendkim where they are missing, and for
# listmonk postgresql. Those of the system are not used or touched: all peers run
# from a temporary directory (TMPDIR says where; it should be on a real disk), on
# the loopback interface.
set -euo pipefail
# Paths are those of who calls.
for variable in MAILER_BENCH_MADDY MAILER_BENCH_LISTMONK; do
  [ -z "${!variable:-}" ] || export "$variable=$(realpath -m -- "${!variable}")"
done
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

if [ "$(id -u)" -ne 0 ]; then
  echo "This needs root: Postfix starts as root alone." >&2
  exit 1
fi

missing=()
for package in postfix opendkim; do
  command -v "$package" >/dev/null || missing+=("$package")
done
benchmarks='^BenchmarkVersus$'
if [ -n "${MAILER_BENCH_LISTMONK:-}" ]; then
  benchmarks='^BenchmarkVersus(Listmonk)?$'
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
fi
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

export MAILER_BENCH_ROUNDS=${1:-${MAILER_BENCH_ROUNDS:-5}}
export MAILER_BENCH_MESSAGES=${2:-${MAILER_BENCH_MESSAGES:-5000}}
exec go test -run '^$' -bench "$benchmarks" -benchtime 1x -timeout 60m ./app/testing/bench
