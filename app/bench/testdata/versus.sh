#!/usr/bin/env bash
# Measures Mailer beside Postfix with OpenDKIM on this machine and prints a table
# in Markdown: bash app/bench/testdata/versus.sh [ROUNDS [MESSAGES]]
#
# It installs Debian's postfix and opendkim where they are missing. Those of the
# system are not used or touched: both peers run from a temporary directory
# (TMPDIR says where; it should be on a real disk), on the loopback interface.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

if [ "$(id -u)" -ne 0 ]; then
  echo "This needs root: Postfix starts as root alone." >&2
  exit 1
fi

missing=()
for package in postfix opendkim; do
  command -v "$package" >/dev/null || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

export MAILER_BENCH_ROUNDS=${1:-${MAILER_BENCH_ROUNDS:-5}}
export MAILER_BENCH_MESSAGES=${2:-${MAILER_BENCH_MESSAGES:-5000}}
exec go test -run '^$' -bench '^BenchmarkVersus$' -benchtime 1x -timeout 60m ./app/bench
