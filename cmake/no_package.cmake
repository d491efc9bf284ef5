message(FATAL_ERROR "this build has MLX, which no Debian package brings: configure it with -DCEL_MLX=OFF to make one")
