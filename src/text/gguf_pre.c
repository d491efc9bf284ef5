// The expressions are those of the tokenizer.json files that the names stand for.
#include "text/gguf_pre.h"

#include "text/scan.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
// Words by case, as o200k and Tekken have them.
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(tail) "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" tail
#define CASED_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define DEEPSEEK3                                                                              \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" \
  "| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define DEEPSEEK_CJK "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define DEEPSEEK_PUNCTUATION \
  "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"
#define SPACES_ONE "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"
// Letters but Chinese ones, by case: Kimi's, where the sets are intersections with [^\p{Han}].
#define NO_HAN(set) "(?:(?!\\p{Han})" set ")"
#define KIMI_UPPER NO_HAN(UPPER)
#define KIMI_LOWER NO_HAN(LOWER)
#define KIMI(upper, lower) \
  "[^\\r\\n\\p{L}\\p{N}]?" KIMI_UPPER upper KIMI_LOWER lower CONTRACTIONS "?"
#define YOUTU_SCRIPTS                                                                                          \
  "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+"                                                                    \
  "|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}"             \
  "\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+"                                              \
  "|[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
// Scripts without spaces.
#define ASIAN_SCRIPTS                                                                                             \
  "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}"            \
  "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}"                 \
  "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+"
#define HAN_KANA "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define NO_PUNCTUATION " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
// Letters with case, as DeepSeek LLM lists them.
#define CASED_LETTERS \
  "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}" \
  "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}" \
  "\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}" \
  "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}" \
  "\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}" \
  "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}" \
  "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}" \
  "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}" \
  "\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}" \
  "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}" \
  "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}" \
  "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}" \
  "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}" \
  "\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+"

static const cel_gguf_pre table[] = {
    {.names = "default", .regexes = {"[\\p{P}\\$\\+<=>\\^~\\|]+", cel_pattern_gpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .ignore_merges = true,
     .add_bos = true,
     .regexes = {cel_pattern_llama3}},
    {.names = "dbrx smaug-bpe chatglm-bpe", .regexes = {cel_pattern_llama3}},
    {.names = "glm4 glm5", .ignore_merges = true, .regexes = {cel_pattern_llama3}},
    {.names = "jais-2",
     .regexes = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
                 "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|" SPACES_ONE}},
    {.names = "minicpm5",
     .ignore_merges = true,
     .regexes = {"\\p{N}{1,3}", CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+" REST}},
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2",
     .regexes = {"\\p{N}", cel_pattern_gpt2}},
    {.names = "gpt-2 phi-2 gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais trillion granite-docling jina-es jina-de "
              "jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe",
     .regexes = {cel_pattern_gpt2}},
    {.names = "qwen2 stablelm2 deepseek-r1-qwen kormo f2llmv2 megrez hunyuan solar-open grok-2",
     .regexes = {cel_pattern_qwen2}},
    {.names = "ufakzeka", .regexes = {"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST}},
    {.names = "laguna", .regexes = {"[^\\n]+|[\\n]+", cel_pattern_qwen2}},
    {.names = "exaone-moe",
     .regexes = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}"
                              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {.names = "qwen35", .regexes = {cel_pattern_qwen35}},
    {.names = "deepseek-llm",
     .regexes = {"[\r\n]", CASED_LETTERS, DEEPSEEK_PUNCTUATION, "\\s+$", DEEPSEEK_CJK, "\\p{N}+"}},
    {.names = "deepseek-coder", .regexes = {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_CJK, "\\p{N}"}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4", .regexes = {"\\p{N}{1,3}", HAN_KANA, DEEPSEEK3}},
    {.names = "spark2_5",
     .regexes = {"\\p{N}{1,3}", HAN_KANA,
                 "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                 "| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
                 "\\p{N}"}},
    {.names = "afmoe", .regexes = {cel_pattern_threes, ASIAN_SCRIPTS, DEEPSEEK3}},
    {.names = "kimi-k2",
     .regexes = {"[\\p{Han}]+|" KIMI("*", "+") "|" KIMI("+", "*") "|\\p{N}{1,3}" REST}},
    {.names = "falcon", .regexes = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", cel_pattern_gpt2, "[0-9][0-9][0-9]"}},
    {.names = "tekken", .ignore_merges = true, .add_bos = true, .regexes = {CASED("") "|\\p{N}" CASED_REST}},
    {.names = "gpt-4o llama4 kanana2 talkie minimax-m2",
     .regexes = {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" CASED_REST}},
    {.names = "granite-embed-multi-97m",
     .ignore_merges = true,
     .regexes = {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" CASED_REST}},
    {.names = "youtu",
     .ignore_merges = true,
     .regexes = {YOUTU_SCRIPTS, CASED(CONTRACTIONS "?") "|\\p{N}" CASED_REST}},
    {.names = "chameleon",
     .add_bos = true,
     .regexes = {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
                 "[\\p{P}!-/:-@\\[-`{-~]", cel_pattern_gpt2}},
    {.names = "tiny_aya cohere2moe",
     .regexes = {"\\d{1,3}(?=(?:\\d{3})*\\b)", CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" CASED_REST}},
    {.names = "bailingmoe bailingmoe2 llada-moe",
     .regexes = {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*"
                 "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {.names = "seed-coder",
     .regexes = {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+"
                              "|\\s+(?!\\S)|\\s+"}},
    {.names = "poro-chat bloom gpt3-finnish", .regexes = {NO_PUNCTUATION}},
    {.names = "viking", .regexes = {NO_PUNCTUATION, "\\p{N}"}},
    {.names = "superbpe", .regexes = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {.names = "gemma4 granite-embed-multi-311m", .add_bos = true, .plain = true, .regexes = {"[^\\n]+|[\\n]+"}},
    {.names = "sarvam-moe", .plain = true, .regexes = {"[^\\n]+|[\\n]+"}},
};

// Is `name` one of the names of a row?
static bool row_has(const cel_gguf_pre *row, cel_str name) {
  for (const char *p = row->names; *p;) {
    size_t n = strcspn(p, " ");
    if (cel_str_eq((cel_str){p, n}, name)) return true;
    p += n;
    p += *p == ' ';
  }
  return false;
}

const cel_gguf_pre *cel_gguf_pre_find(cel_str name) {
  for (int i = 0; i < CEL_COUNT(table); i++) {
    if (row_has(&table[i], name)) return &table[i];
  }
  return NULL;
}

static bool same_regexes(const cel_gguf_pre *row, const cel_str *regexes, int n) {
  for (int i = 0; i < CEL_GGUF_PRE_REGEXES; i++) {
    if (i >= n) return !row->regexes[i];
    if (!row->regexes[i] || !cel_str_is(regexes[i], row->regexes[i])) return false;
  }
  return n == CEL_GGUF_PRE_REGEXES;
}

bool cel_gguf_pre_match(const cel_str *regexes, int n, bool ignore_merges, bool plain, cel_str *name) {
  for (int i = 0; i < CEL_COUNT(table); i++) {
    if (table[i].ignore_merges != ignore_merges || table[i].plain != plain || !same_regexes(&table[i], regexes, n)) continue;
    *name = (cel_str){table[i].names, strcspn(table[i].names, " ")};
    return true;
  }
  return false;
}

void cel_gguf_pre_list(cel_buf *out) {
  for (int i = 0; i < CEL_COUNT(table); i++) {
    for (const char *p = table[i].names; *p; p++) {
      if (p == table[i].names && i > 0) cel_buf_addz(out, ", ");
      if (*p == ' ') {
        cel_buf_addz(out, ", ");
      } else {
        cel_buf_addc(out, *p);
      }
    }
  }
}
