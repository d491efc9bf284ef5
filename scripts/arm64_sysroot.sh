#!/bin/sh
# Unpacks the libraries that mlxcel needs, built for arm64, into build/arm64-sysroot: from the distribution's own
# packages, fetched with a private set of lists, so that the system's architectures and packages stay as they are.
# Debian only (Ubuntu keeps arm64 on other hosts than its sources name).
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/arm64-sysroot
wanted="libpcre2-dev libutf8proc-dev libedit-dev libcurl4-openssl-dev libcmocka-dev"
stamp=$root/.made-from
[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || exit 0

rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
: > "$root/apt/status"
private_apt() {
  apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$root/apt" \
    -o Dir::State::lists="$root/apt/lists" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt" \
    -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@" > "$root/apt/log" 2>&1 && return
  tail -n 3 "$root/apt/log" >&2
  echo "arm64_sysroot.sh: the arm64 packages cannot be had" >&2
  exit 1
}
private_apt update
# shellcheck disable=SC2086 # words on purpose
private_apt install --no-install-recommends --download-only $wanted
# The C library and the compiler's own come with the cross compiler.
for package in "$root"/apt/archives/*.deb; do
  case ${package##*/} in
    libc6* | libc-* | libgcc* | gcc-* | linux-libc-dev* | libcrypt* | perl* | debconf* | dpkg*) ;;
    *) dpkg -x "$package" "$root" ;;
  esac
done
rm -rf "$root/apt"
echo "$wanted" > "$stamp"
