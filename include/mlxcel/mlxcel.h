// The whole public interface of mlxcel. Link with `pkg-config --cflags --libs mlxcel`; begin with examples/chat.c.
#ifndef MLXCEL_MLXCEL_H
#define MLXCEL_MLXCEL_H

#include <mlxcel/errors.h>
#include <mlxcel/generate.h>
#include <mlxcel/model.h>
#include <mlxcel/session.h>
#include <mlxcel/text.h>
#include <mlxcel/version.h>

#endif
