message(FATAL_ERROR "this build has an MLX that a Debian package can neither bring nor depend on (one for CUDA, or one that was not unpacked "
        "from a wheel): configure it with -DCEL_MLX=OFF, or with the MLX of scripts/deps.sh --mlx")
