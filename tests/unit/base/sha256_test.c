#define _POSIX_C_SOURCE 200809L
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *hex_of(const void *data, size_t n) {
  static char hex[CEL_SHA256_HEX_BYTES];
  cel_sha256 s;
  cel_sha256_init(&s);
  cel_sha256_add(&s, data, n);
  cel_sha256_end_hex(&s, hex);
  return hex;
}

// Of FIPS 180-4's examples and NIST's byte-oriented test vectors (SHA256ShortMsg).
static void sha256_gives_the_published_digests(void **state) {
  (void)state;
  static const struct {
    const char *text, *digest;
  } known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
  };
  for (int i = 0; i < CEL_COUNT(known); i++) assert_string_equal(hex_of(known[i].text, strlen(known[i].text)), known[i].digest);
}

static void sha256_of_a_million_letters_in_uneven_pieces(void **state) {
  (void)state;
  char *text = malloc(1000000);
  assert_non_null(text);
  memset(text, 'a', 1000000);
  cel_sha256 s;
  cel_sha256_init(&s);
  for (size_t at = 0, piece = 1; at < 1000000; piece = piece % 201 + 1) {
    size_t n = CEL_MIN(piece, 1000000 - at);
    cel_sha256_add(&s, text + at, n);
    at += n;
  }
  char hex[CEL_SHA256_HEX_BYTES];
  cel_sha256_end_hex(&s, hex);
  free(text);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void sha256_is_the_same_however_a_text_is_cut(void **state) {
  (void)state;
  uint8_t text[200];
  for (int i = 0; i < 200; i++) text[i] = (uint8_t)(i * 7 + 3);
  for (size_t n = 0; n <= 200; n++) {
    char whole[CEL_SHA256_HEX_BYTES], hex[CEL_SHA256_HEX_BYTES];
    snprintf(whole, sizeof whole, "%s", hex_of(text, n));
    for (size_t cut = 0; cut <= n; cut += 13) {
      cel_sha256 s;
      cel_sha256_init(&s);
      cel_sha256_add(&s, text, cut);
      cel_sha256_add(&s, text + cut, n - cut);
      cel_sha256_end_hex(&s, hex);
      assert_string_equal(hex, whole);
    }
  }
}

static void sha256_tells_a_digest_from_other_text(void **state) {
  (void)state;
  char text[70] = "E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  assert_true(cel_sha256_is_hex(text));
  text[63] = 'g';
  assert_false(cel_sha256_is_hex(text));
  text[63] = 0;
  assert_false(cel_sha256_is_hex(text));
  assert_false(cel_sha256_is_hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550"));
  assert_false(cel_sha256_is_hex(""));
}

static void sha256_of_a_file_takes_its_head_and_names_what_is_missing(void **state) {
  (void)state;
  char path[] = "/tmp/sha256_test_XXXXXX", hex[CEL_SHA256_HEX_BYTES];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "abcdef", 6), 6);
  close(fd);
  cel_err err = {0};
  cel_sha256 s;
  cel_sha256_init(&s);
  assert_int_equal(cel_sha256_add_file(&s, path, 3, &err), CEL_OK);
  cel_sha256_end_hex(&s, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_int_equal(cel_sha256_add_file(&s, path, 10, &err), CEL_IO);
  assert_non_null(strstr(err.text, "4 bytes are missing"));
  unlink(path);
  assert_int_equal(cel_sha256_add_file(&s, path, 3, &err), CEL_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_gives_the_published_digests),
      cmocka_unit_test(sha256_of_a_million_letters_in_uneven_pieces),
      cmocka_unit_test(sha256_is_the_same_however_a_text_is_cut),
      cmocka_unit_test(sha256_tells_a_digest_from_other_text),
      cmocka_unit_test(sha256_of_a_file_takes_its_head_and_names_what_is_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
