// The models of the tests on bits.
#ifndef CEL_TESTS_PARITY_BITS_H
#define CEL_TESTS_PARITY_BITS_H

#include "base/macros.h"

static const char *const names[] = {"llama3", "qwen3", "mistral", "gemma3", "gemma3n", "qwen2", "llama3-q4g64", "qwen3-q8g64", "llama-gguf",
                                    "qwen3-q3g64", "llama3-mixed", "qwen3-nvfp4", "llama3-mxfp8", "llama-blocks",
                                    "gemma1", "gemma2", "olmo1", "olmo2", "cohere", "stablelm", "starcoder2", "phi3-long",
                                    "glm4", "granite", "ministral3", "internlm2", "exaone4", "hunyuan", "apertus", "smollm3",
                                    "qwen3moe-q4g32", "qwen2moe", "gptoss-mxfp4", "phimoe", "dsv2", "dsv3",
                                    "lfm2", "lfm2moe", "qwen3next",
                                    "ministral", "mimo", "olmo3", "ernie", "seedoss", "internlm3",
                                    "exaone3", "cohere2", "phi4mm", "hyperclovax", "minicpm", "glm", "arcee",
                                    "nemotron", "mixtral", "qwen3moe", "olmoe", "erniemoe", "granitemoe",
                                    "granitemoeshared", "granite4-dense", "glm4moe", "dots1", "exaonemoe", "dsv1",
                                    "gptoss", "minicpm3", "youtu", "qwen35", "qwen35moe"};
// Races do not depend on the family: under a sanitizer, which makes this ten times slower, every fifth will do.
enum { EVERY = CEL_HAS_SANITIZER ? 5 : 1 };

#endif
