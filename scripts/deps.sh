#!/bin/sh
# Makes sure that the tools and libraries of the build and its tests are there.
#
#   scripts/deps.sh            installs what is missing, where that needs no question (root, sudo without a
#                              password, Homebrew); otherwise prints the one command to run and fails
#   scripts/deps.sh --print    only prints that command
#   scripts/deps.sh arm64      also what `make test-arm64` needs (Debian, Ubuntu)
#   scripts/deps.sh fuzz       also what `make fuzz` needs: clang with libFuzzer
#   scripts/deps.sh --mlx      also MLX, whose backend the default build is (scripts/mlx.sh); --mlx=cuda: for NVIDIA GPUs
#
# Every need is asked of the machine itself (does it compile, does pkg-config know it), so hand-made
# installations count, and the script is done in a moment when nothing is missing.
set -eu
cd "$(dirname "$0")/.."

CMAKE_MAJOR=3 CMAKE_MINOR=25   # the least that CMakeLists.txt takes
print_only=no arm64=no fuzz=no mlx=no recommends=no
for word in "$@"; do
  case $word in
    --print) print_only=yes ;;
    arm64) arm64=yes ;;
    fuzz) fuzz=yes ;;
    --mlx) mlx=default ;;
    --mlx=cuda) mlx=cuda ;;
    *) echo "deps.sh: $word is none of --print, arm64, fuzz, --mlx, --mlx=cuda" >&2; exit 2 ;;
  esac
done

system=$(uname -s)
have() { command -v "$1" >/dev/null 2>&1; }
packages=
need() { packages="$packages $1"; }   # a package's name, in the words of this system's package manager

if [ "$system" = Darwin ]; then
  have brew || { echo "deps.sh: Homebrew (brew) is needed to install packages on macOS" >&2; exit 1; }
  . scripts/homebrew.sh
  library() { pkg-config --exists "$1" 2>/dev/null || need "$3"; }
else
  library() { pkg-config --exists "$1" 2>/dev/null || need "$2"; }
fi

cmake_is_new_enough() {  # $1: the program
  version=$("$1" --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$version" ] || return 1
  [ "${version%%.*}" -gt "$CMAKE_MAJOR" ] ||
    { [ "${version%%.*}" -eq "$CMAKE_MAJOR" ] && [ "${version#*.}" -ge "$CMAKE_MINOR" ]; }
}

compiles() {  # $1: a compiler; does it find the C library and link?
  have "$1" || return 1
  folder=$(mktemp -d)
  echo '#include <stdio.h>
int main(void) { return puts("") < 0; }' > "$folder/a.c"
  if "$1" -o "$folder/a" "$folder/a.c" >/dev/null 2>&1; then linked=0; else linked=1; fi
  rm -rf "$folder"
  return "$linked"
}

if [ "$system" = Darwin ]; then
  compiles "${CC:-cc}" || { echo "deps.sh: no C compiler: run xcode-select --install" >&2; exit 1; }
  have ninja || need ninja
else
  compiles "${CC:-cc}" || need build-essential
  have ninja || need ninja-build
fi
have cmake || need cmake
have pkg-config || need pkg-config
library libpcre2-8 libpcre2-dev pcre2
library libutf8proc libutf8proc-dev utf8proc
library libedit libedit-dev libedit
library libcurl libcurl4-openssl-dev curl
library libcurl libcurl4-openssl-dev curl
library cmocka libcmocka-dev cmocka
have python3 || need python3
if [ "$system" != Darwin ]; then
  # With it the kernel tests check the AVX-512 tables on any x86-64 machine; without it they leave them out.
  case $(uname -m) in
    x86_64) [ -f /usr/include/simde/x86/avx512.h ] || need libsimde-dev ;;
  esac
  # The demo model and the packages that some tests compare with come through pip in a virtual environment.
  python3 -c 'import venv, ensurepip' 2>/dev/null || need python3-venv
  # Debian's clang recommends the package with libFuzzer, so here recommendations are taken.
  if [ $fuzz = yes ] && ! { have clang && ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer-*.a; } >/dev/null 2>&1
  then
    need clang
    recommends=yes
  fi
  if [ $arm64 = yes ]; then
    have aarch64-linux-gnu-gcc || need gcc-aarch64-linux-gnu
    have qemu-aarch64 || have qemu-aarch64-static || need qemu-user
  fi
fi

if [ -n "$packages" ]; then
  packages=${packages# }
  if [ "$system" = Darwin ]; then
    command="brew install $packages"
  elif have apt-get; then
    install="apt-get install -y --no-install-recommends"
    [ $recommends = no ] || install="apt-get install -y"
    command="$install $packages"
    [ "$(id -u)" = 0 ] || command="sudo $command"
  else
    echo "deps.sh: missing, in Debian's names: $packages" >&2
    echo "deps.sh: this script knows apt and Homebrew only; please install them with this system's own tool" >&2
    exit 1
  fi
  if [ $print_only = yes ]; then echo "$command"; exit 0; fi
  if [ "$system" != Darwin ] && [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    echo "mlxcel needs packages that this user may not install without a password. Please run:" >&2
    echo "  $command" >&2
    exit 1
  fi
  echo "deps.sh: $command" >&2
  if [ "$system" = Darwin ]; then
    $command >&2
  else
    [ "$(id -u)" = 0 ] && root= || root="sudo -n"
    # A new machine has no package lists yet; a stale list still serves when the network is down.
    $root apt-get update >&2 || echo "deps.sh: apt-get update failed; trying with the lists there are" >&2
    # shellcheck disable=SC2086 # words on purpose
    $root env DEBIAN_FRONTEND=noninteractive $install $packages >&2 || {
      echo "deps.sh: the packages could not be installed (is there a network?): $packages" >&2
      exit 1
    }
  fi
elif [ $print_only = yes ]; then
  echo "deps.sh: nothing is missing"
fi
[ $print_only = yes ] && exit 0

# Ubuntu 22.04 has an older CMake than the build takes: a newer one comes from PyPI, into build/tools.
if ! cmake_is_new_enough cmake && ! cmake_is_new_enough build/tools/bin/cmake; then
  echo "deps.sh: cmake is older than $CMAKE_MAJOR.$CMAKE_MINOR; a newer one goes to build/tools" >&2
  if ! { python3 -m venv build/tools && build/tools/bin/pip install --quiet 'cmake>=3.25,<5' >&2; }; then
    echo "deps.sh: CMake $CMAKE_MAJOR.$CMAKE_MINOR could not be installed with pip; please install it by hand" >&2
    exit 1
  fi
fi

case $mlx in
  default) scripts/mlx.sh >&2 ;;
  cuda) scripts/mlx.sh cuda >&2 ;;
esac
if [ $arm64 = yes ]; then exec scripts/arm64_sysroot.sh; fi
