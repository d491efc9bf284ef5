# To be sourced (sh). Homebrew keeps libedit and curl out of pkg-config's sight, since macOS has its own without .pc files.
for formula in libedit curl; do
  PKG_CONFIG_PATH="$(brew --prefix)/opt/$formula/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
done
export PKG_CONFIG_PATH
