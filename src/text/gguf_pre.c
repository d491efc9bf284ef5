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
#define DEEPSEEK3                                                                                             \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" \
  "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LATIN_GREEK_CYRILLIC                                                                                  \
  "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼ" \
  "ℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"

static const cel_gguf_pre table[] = {
    {"default", false, false, false, {"[\\p{P}\\$\\+<=>\\^~\\|]+", cel_pattern_gpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", true, true, false, {cel_pattern_llama3}},
    {"dbrx smaug-bpe chatglm-bpe", false, false, false, {cel_pattern_llama3}},
    {"glm4 glm5", true, false, false, {cel_pattern_llama3}},
    {"minicpm5", true, false, false, {"\\p{N}{1,3}", CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+" REST}},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", false, false, false, {"\\p{N}", cel_pattern_gpt2}},
    {"gpt-2 phi-2 gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais trillion granite-docling", false, false, false,
     {cel_pattern_gpt2}},
    {"qwen2 stablelm2 deepseek-r1-qwen kormo f2llmv2 megrez hunyuan solar-open grok-2", false, false, false, {cel_pattern_qwen2}},
    {"qwen35", false, false, false, {cel_pattern_qwen35}},
    {"deepseek-llm", false, false, false,
     {"[\r\n]", LATIN_GREEK_CYRILLIC, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", "[一-龥ࠀ-一가-퟿]+", "\\p{N}+"}},
    {"deepseek-coder", false, false, false, {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", "\\p{N}"}},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", false, false, false, {"\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK3}},
    {"falcon", false, false, false, {"[\\p{P}\\$\\+<=>\\^~\\|`]+", cel_pattern_gpt2, "[0-9][0-9][0-9]"}},
    {"tekken", true, true, false, {CASED("") "|\\p{N}" CASED_REST}},
    {"gpt-4o llama4 kanana2 talkie minimax-m2", false, false, false, {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" CASED_REST}},
    {"tiny_aya cohere2moe", false, false, false,
     {"\\d{1,3}(?=(?:\\d{3})*\\b)", CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" CASED_REST}},
    {"bailingmoe bailingmoe2 llada-moe", false, false, false,
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"seed-coder", false, false, false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"poro-chat bloom gpt3-finnish", false, false, false, {" ?[^(\\s|.,!?…。，、।۔،)]+"}},
    {"viking", false, false, false, {" ?[^(\\s|.,!?…。，、।۔،)]+", "\\p{N}"}},
    {"superbpe", false, false, false, {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {"gemma4", false, true, true, {"[^\\n]+|[\\n]+"}},
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
