#!/bin/sh
# Unpacks the libraries that mlxcel needs, built for arm64, into build/arm64-sysroot: from the distribution's own
# packages, fetched with a private set of lists, so that the system's architectures and packages stay as they are.
# Debian only (Ubuntu keeps arm64 on other hosts than its sources name).
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-sysroot
wanted="libjansson4 libjansson-dev libpcre2-8-0 libpcre2-dev libutf8proc-dev libedit2 libedit-dev libbsd0 libmd0
libtinfo6 libncurses-dev libcmocka0 libcmocka-dev libpcre2-posix3 libbsd-dev libmd-dev"
stamp=$root/.made-from
[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || exit 0

rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial" "$root/apt/debs"
: > "$root/apt/status"
apt() {
  command=$1
  shift
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$root/apt" \
    -o Dir::State::lists="$root/apt/lists" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt" \
    -o Debug::NoLocking=1 -o APT::Sandbox::User= "$command" "$@"
}
apt update > "$root/apt/log" 2>&1 || { tail -n 3 "$root/apt/log" >&2; echo "arm64_sysroot.sh: no package lists for arm64" >&2; exit 1; }
# The run-time half of utf8proc carries its version in its name.
utf8proc=$(apt-cache -o APT::Architecture=arm64 -o Dir::State="$root/apt" -o Dir::State::lists="$root/apt/lists" \
  -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt" depends libutf8proc-dev 2>/dev/null |
  sed -n 's/.*Depends: \(libutf8proc[0-9]*\).*/\1/p' | head -n 1)
cd "$root/apt/debs"
# shellcheck disable=SC2086 # words on purpose
apt download $wanted $utf8proc > "$root/apt/log" 2>&1 || { tail -n 3 "$root/apt/log" >&2; echo "arm64_sysroot.sh: packages for arm64 cannot be had" >&2; exit 1; }
for package in *.deb; do dpkg -x "$package" "$root"; done
cd "$root"
rm -rf apt
echo "$wanted" > "$stamp"
