"""Makes the tokenizer fixtures of tests/data/tokenizer: small tokenizer.json files, a list of strings, and what
the reference (the Python package `tokenizers`) makes of each string with each of them.

    python tests/oracle/make_tokenizer_vectors.py                     writes the fixtures; vocabularies are those
                                                                      committed, with --train they are made anew
    python tests/oracle/make_tokenizer_vectors.py --gguf FILE NAME    ids of the same strings by the vocabulary of a
                                                                      GGUF file (package llama-cpp-python)
"""
import base64
import json
import pathlib
import random
import struct
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "tokenizer"

SENTENCES = [
    "The capital of France is Paris.", "It's we're they've I'm you'll he'd don't", "IT'S WE'RE THEY'VE I'M YOU'LL HE'D DON'T",
    "O'Neill's 'tis 'twas rock'n'roll '90s", "Dr. Smith paid $3.50 (about 5%) for 2 apples & 1/2 pear.", "e.g. i.e. etc.... wait--what?!",
    "Hello\n\n\nWorld \n \n\tx", "\n =", "The end   ", "a  b   c", "a\r\nb\r\n\r\nc", "\t\tif x:\t# y", "(x):\n\n\ny", "   \n  ",
    "I'LL 12345", "e\u0301x", "cafe\u0301", "\u1112\u1161\u11ab", "q\u0307\u0323", "\u0958", "\ufb01 \u2460 \uff21", "YES yes Yes",
    "ab 歪", "<0x41>", "ab 歪歪 c", "<s>ab</s>", "<|im_start|>user\nhi<|im_end|>\n", "x<|im_end|>y <|im_end|> z", "<|im_end", "<|IM_END|>",
    "1234567890 12 345 6,789.01 1e-5 0x1F ½ ² Ⅷ ௧௨ ٣٤ １２", "http://example.org/a?b=c&d=e#f", "me@example.org #tag @name", "C:\\dir\\file.txt",
    "snake_case camelCase PascalCase kebab-case SCREAMING_CASE", "a_b __init__ _x x_", "naïve façade coöperate Ångström",
    "“quotes” ‘single’ «guillemets» „low“ – en — em … dots", "'s 't 're 've 'm 'll 'd", "'ſ 'S 'ſt it'ſ", "x'y z'", " 's", "''s", "'S'T'RE",
    "a\u00a0b\u2003c\u3000d\u200be\ufefff\u180eg\u0085h\u2028i\u2029j", "\u200d \u200c \u2060", "tab\there", "line\x0bvt\x0cff\x1cfs\x1fus",
]
CODE = [
    "def f(n):\n    return 1 if n < 2 else n * f(n - 1)\n", "for (int i = 0; i < n; ++i) { sum += a[i]; }", "{\"a\": [1, 2.5, null, true], \"b\": {}}",
    "<div class=\"x\"><p>Hi &amp; bye</p></div>", "SELECT * FROM t WHERE x >= 10 AND y != 'z';", "#include <stdio.h>\n\nint main(void) {\n\treturn 0;\n}\n",
    "if [ -f \"$FILE\" ]; then\n  cat \"$FILE\" | grep -v '^#'\nfi", "let x = y?.z ?? (() => 42)();", "\\frac{a}{b} + \\sum_{i=0}^{n} x_i^2", "a=b;c+=d;e!=f;g==h;i->j;k::l",
    "    indented\n        more\n\tback", "```python\nprint('x')\n```", "- [ ] todo\n- [x] done\n\n# Head\n", "x = 0xFF & ~mask << 3 >> 1 | 0b1010", "%d %s %5.2f\\n",
]
SCRIPTS = [
    "Привет, как дела?", "Γειά σου Κόσμε", "שלום עולם", "مرحبا بالعالم، كيف حالك؟", "नमस्ते दुनिया। क्या हाल है?", "বাংলা ভাষা", "தமிழ் மொழி", "తెలుగు భాష",
    "ಕನ್ನಡ ಭಾಷೆ", "മലയാളം ഭാഷ", "ภาษาไทยไม่มีช่องว่าง", "ພາສາລາວ", "မြန်မာဘာသာ", "ភាសាខ្មែរ", "བོད་ཡིག", "ქართული ენა", "Հայերեն լեզու", "አማርኛ ቋንቋ", "日本語のテキストです。",
    "カタカナ ﾊﾝｶｸ ひらがな", "中文文本，没有空格。", "繁體中文「引號」", "한국어 텍스트입니다", "Tiếng Việt có dấu", "Türkçe İstanbul ıssız", "Čeština příliš žluťoučký kůň", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "ᚠᚢᚦᚨᚱᚲ", "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂", "ⴰⵎⴰⵣⵉⵖ", "සිංහල භාෂාව", "ગુજરાતી ભાષા", "ਪੰਜਾਬੀ ਭਾਸ਼ਾ", "ଓଡ଼ିଆ ଭାଷା", "Монгол хэл", "ꦗꦮ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛",
]
EMOJI = ["🦙", "😀😃😄", "👨‍👩‍👧‍👦 family", "🇫🇷🇩🇪 flags", "👍🏽 ok 👍", "❤️ vs ❤", "x🦙y 🦙 z", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣2️⃣", "☀☁☂ ★ ☎", "♔♕ ♠♥ ✓✗", "🤷‍♀️🤷🏿‍♂️"]
MARKS = ["a\u0300\u0301\u0302b", "\u0301alone", "n\u0303 ñ", "o\u0308\u0304", "\u0e01\u0e34\u0e48", "\u05e9\u05b8\u05c1", "a\u0323\u0307 a\u0307\u0323", "\u0344\u0345", "x\u20dd y\u20e3",
         "\u212b \u2126 \u212a", "ǰ ǆ Ǆ ǅ", "ẞß ŉ ΐ", "\uac00\u11a8 \u1100\u1161\u11a8", "\u0cc6\u0cc2\u0cd5"]
RUNS = ["A" * 60, " " * 40, "\n" * 33, "\t" * 17, "." * 50, "=" * 40, "ab" * 30, "歪" * 20, "🦙" * 9, " \n" * 12, "-" * 80, "0" * 31, "\u0301" * 20, "!?" * 20, "x " * 20, "\r\n" * 9,
        "▁" * 5, " ▁ a▁b ▁▁", "aaa bbb " * 6]
LONG = [("A", 100000), (" ", 100000), ("\n", 50000), ("歪", 30000), (".", 60000), (" \n", 30000), ("x ", 40000), ("\u0301", 30000), ("'s", 30000), ("\u0323\u0307", 20000)]
CONTROL = [chr(i) for i in range(1, 32)] + ["\x7f", "\x80\x9f", "a\x00b", "\x00", "\u0085", "\u00ad", "\ufffd", "\ufffe", "\U0010ffff", "\ue000"]

ALPHABET = list("abcdefgzABCXYZ0123456789 \n\t\r.,;:!?'\"()[]{}<>|=+-*/_#@&%$\\") + [
    " ", " ", " ", "the", "ing", "'s", "'LL", "  ", "\n\n", "é", "ß", "ñ", "\u0301", "\u0323", "я", "Ж", "ا", "ب", "न", "ि", "ก", "ํ", "日", "本", "歪", "한", "ᄀ", "ᅡ",
    "🦙", "😀", "\u200d", "\ufe0f", "½", "²", "Ⅷ", "١", "\u00a0", "\u3000", "\u2028", "▁", "<s>", "<|im_end|>", "<0x41>", "[MASK]", "ﬁ", "Å", "İ", "ſ", "\u0085", "𝔘", "\x07", "—", "“"]


def strings(n_random=400, n_mixed=0):
    """Those written here and random ones; n_mixed more put together from words of all scripts, code and marks."""
    rng = random.Random(20240607)
    out = [""] + SENTENCES + CODE + SCRIPTS + EMOJI + MARKS + RUNS + CONTROL
    for s in SENTENCES[:6] + SCRIPTS[:6]:
        out += [" " + s, s + " ", s.upper(), s.lower(), "  " + s + "\n"]
    for _ in range(n_random):
        out.append("".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 24))))
    pools = [[w for s in pool for w in s.split(" ") if w] for pool in (SENTENCES, CODE, SCRIPTS, SCRIPTS, EMOJI, MARKS)]
    for i in range(n_mixed):
        pool = pools[i % len(pools)]
        words = [rng.choice(pool if rng.random() < 0.7 else rng.choice(pools))[:16] for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.15:
            words.append(rng.choice(RUNS)[:rng.randint(1, 30)])
        if rng.random() < 0.1:
            words.insert(0, rng.choice(CONTROL))
        out.append("".join(w + rng.choice([" ", " ", " ", "", "  ", "\n", ", ", "."]) for w in words)[:60])
    return list(dict.fromkeys(out))


def corpus():
    return strings(400, 1700)


def fingerprint(ids):
    """FNV-1a over the ids as 4 little-endian bytes each, its low 32 bits."""
    h = 0xCBF29CE484222325
    for i in ids:
        for b in i.to_bytes(4, "little"):
            h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%08x" % (h & 0xFFFFFFFF)


def train(pre, size, alphabet=(), **model):
    """A small BPE trained on the strings themselves; returns its model as JSON."""
    from tokenizers import Tokenizer, models, trainers
    t = Tokenizer(models.BPE(**model))
    if pre is not None:
        t.pre_tokenizer = pre
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=sorted(alphabet), min_frequency=2)
    t.train_from_iterator(train_text(), trainer)  # no NUL: a key with one is more than most JSON readers take
    return dict(json.loads(t.to_str())["model"], trained=True)


def token(i, content, special=True, **flags):
    t = dict(id=i, content=content, single_word=False, lstrip=False, rstrip=False, normalized=not special, special=special)
    t.update(flags)
    return t


def template(*pieces, ids):
    single = [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}} for p in pieces]
    return {"type": "TemplateProcessing", "single": single, "pair": single + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {p: {"id": p, "ids": [ids[p]], "tokens": [p]} for p in pieces if p != "A"}}


LLAMA3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
UPPER, LOWER = ("[%s\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]" % k for k in ("\\p{Lu}\\p{Lt}", "\\p{Ll}"))
KIMI = ("[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?%s*%s+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?%s+%s*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}"
        "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+") % (UPPER, LOWER, UPPER, LOWER)
TEKKEN = ("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
          "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def split(regex, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: regex}, "behavior": behavior, "invert": invert}


def sequence(kind, *steps):
    return {"type": "Sequence", kind: list(steps)}


def whole(model, added=(), normalizer=None, pre=None, post=None, decoder=None):
    return dict(version="1.0", truncation=None, padding=None, added_tokens=list(added), normalizer=normalizer, pre_tokenizer=pre,
                post_processor=post, decoder=decoder, model=model)


def byte_model(pre, size, **changes):
    from tokenizers import pre_tokenizers
    m = train(pre, size, pre_tokenizers.ByteLevel.alphabet())
    m.update(changes)
    return m


def spm_model():
    """Few tokens, all bytes: SentencePiece-style BPE as Llama 2 has it."""
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)] + ["▁", "a", "b", "▁a", "ab", "▁▁", "▁ab", "▁b"]
    return dict(type="BPE", dropout=None, unk_token="<unk>", continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=True,
                byte_fallback=True, ignore_merges=False, vocab={t: i for i, t in enumerate(tokens)},
                merges=["▁ a", "a b", "▁ ▁", "▁a b", "▁ b"])


def with_bytes(model, first):
    """Puts `first` and the 256 byte tokens in front of a trained vocabulary."""
    tokens = first + ["<0x%02X>" % i for i in range(256)]
    tokens += [t for t, _ in sorted(model["vocab"].items(), key=lambda x: x[1]) if t not in tokens]
    model["vocab"] = {t: i for i, t in enumerate(tokens)}
    return model


def train_text():
    return [s for s in strings(0) * 2 + SENTENCES * 3 if "\0" not in s]


def unigram_model(pre, size, normalizer=None, specials=("<pad>", "</s>", "<unk>"), byte_fallback=False):
    """A small Unigram model; its scores are rounded to f32, as files from SentencePiece have them."""
    from tokenizers import Tokenizer, models, trainers
    t = Tokenizer(models.Unigram())
    if pre is not None:
        t.pre_tokenizer = pre
    if normalizer is not None:
        t.normalizer = normalizer
    t.train_from_iterator(SENTENCES[:40] * 3 + CODE * 2 + SCRIPTS[:3], trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=list(specials), unk_token="<unk>", max_piece_length=12))
    model = json.loads(t.to_str())["model"]
    vocab = [[w, struct.unpack("f", struct.pack("f", x))[0]] for w, x in model["vocab"]]
    if byte_fallback:
        vocab = vocab[:len(specials)] + [["<0x%02X>" % i, 0.0] for i in range(256)] + vocab[len(specials):]
    vocab.append(["の日", -1.5])  # characters of it are no tokens: a longer one all the same
    return dict(type="Unigram", unk_id=list(specials).index("<unk>"), vocab=vocab, byte_fallback=byte_fallback, trained=True)


def word_model(pre, size, kind, normalizer=None, **settings):
    """A small WordPiece or WordLevel model."""
    from tokenizers import Tokenizer, models, trainers
    t = Tokenizer(getattr(models, kind)(unk_token="[UNK]"))
    t.pre_tokenizer = pre
    if normalizer is not None:
        t.normalizer = normalizer
    trainer = getattr(trainers, kind + "Trainer")(vocab_size=size, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.train_from_iterator(train_text(), trainer)
    model = json.loads(t.to_str())["model"]
    model["vocab"] = dict(sorted(model["vocab"].items(), key=lambda x: x[1]))
    model.update(settings, trained=True)
    return model


# What SentencePiece's compiler makes a map of: source and target code points.
CHARSMAP = [("\ufb01", "fi"), ("\u00bd", "1/2"), ("\u00b2", "2"), ("\u2167", "VIII"), ("\u212b", "\u00c5"), ("e\u0301", "\u00e9"), ("n\u0303", "\u00f1"), ("\u00a0", " "), ("\u3000", " "), ("\n", " "), ("\t", " "),
            ("\u200d", ""), ("\ufe0f", ""), ("\uff21", "A"), ("\uff11", "1"), ("\uff12", "2"), ("\u2460", "1"), ("\u2026", "..."), ("\u201c", '"'), ("\u201d", '"'), ("\x07", ""), ("\u30a2", "\u30a1"), ("\u1100\u1161\u11a8", "\uac01"), ("\r\n", " "), ("x", "y"), ("xyz", "x")]


def charsmap():
    """base64 of a precompiled map with the rules above (package sentencepiece)."""
    import os
    import tempfile
    import sentencepiece
    with tempfile.TemporaryDirectory() as d:
        rules, text, out = (os.path.join(d, n) for n in ("rules.tsv", "text.txt", "m"))
        with open(rules, "w", encoding="utf-8") as f:
            for a, b in CHARSMAP:
                f.write("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)))
        with open(text, "w", encoding="utf-8") as f:
            f.write("\n".join("one two three four five six seven"[i:] for i in range(30)))
        sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out, vocab_size=60, hard_vocab_limit=False,
                                                 normalization_rule_tsv=rules, minloglevel=2)
        with open(out + ".model", "rb") as f:
            return base64.b64encode(field(field(f.read(), 3), 2)).decode()


def field(message, number):
    """The bytes of a length-delimited field of a protobuf message: the last one of that number."""
    i, found = 0, b""

    def varint():
        nonlocal i
        shift = value = 0
        while True:
            b = message[i]
            i += 1
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value
    while i < len(message):
        key = varint()
        if key & 7 == 2:
            n = varint()
            if key >> 3 == number:
                found = message[i:i + n]
            i += n
        elif key & 7 == 0:
            varint()
        else:
            i += 8 if key & 7 == 1 else 4
    return found


BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def more_fixtures():
    """Unigram, WordPiece and WordLevel, with the steps that come with them."""
    from tokenizers import normalizers as N, pre_tokenizers as P
    out = {}
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap()}
    names = ["<pad>", "</s>", "<unk>"]
    m = unigram_model(P.Metaspace(prepend_scheme="always"), 560)
    n = len(m["vocab"])
    out["t5"] = whole(m, [token(i, t) for i, t in enumerate(names)] + [token(n, "<s>"), token(n + 1, "<mask>", lstrip=True)], pre=meta, decoder=meta,
                      normalizer=sequence("normalizers", precompiled, {"type": "Strip", "strip_left": False, "strip_right": True},
                                          {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}),
                      post=template("A", "</s>", ids={"</s>": 1}))
    m = unigram_model(P.Metaspace(prepend_scheme="never", split=False), 460, byte_fallback=True, specials=("<s>", "</s>", "<unk>"))
    strip = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    out["unigram"] = whole(m, [token(i, t) for i, t in enumerate(("<s>", "</s>", "<unk>"))], decoder=sequence("decoders", *strip),
                           normalizer=sequence("normalizers", {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
                           post={"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True})
    special = [token(i, t) for i, t in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))]
    m = word_model(P.BertPreTokenizer(), 520, "WordPiece", N.BertNormalizer())
    out["bert"] = whole(m, special, normalizer=BERT_NORMALIZER, pre={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
                        post=template("[CLS]", "A", "[SEP]", ids={"[CLS]": 2, "[SEP]": 3}))
    m = word_model(P.WhitespaceSplit(), 600, "WordPiece", max_input_chars_per_word=14)
    out["bert_cased"] = whole(m, special, normalizer=sequence("normalizers", dict(BERT_NORMALIZER, lowercase=False, handle_chinese_chars=False), {"type": "StripAccents"}),
                              pre=sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"}),
                              decoder={"type": "WordPiece", "prefix": "##", "cleanup": False},
                              post={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})
    m = word_model(P.Whitespace(), 400, "WordLevel")
    out["wordlevel"] = whole(m, special, pre=sequence("pretokenizers", {"type": "CharDelimiterSplit", "delimiter": "é"}, {"type": "Whitespace"}),
                             normalizer={"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": True, "strip_accents": True, "lowercase": False})
    m = word_model(P.FixedLength(1), 150, "WordLevel")
    m["vocab"]["|"] = len(m["vocab"])
    out["letters"] = whole(m, special, pre={"type": "FixedLength", "length": 1}, normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "|"},
                           decoder={"type": "CTC", "pad_token": "[PAD]", "word_delimiter_token": "|", "cleanup": True})
    m = train(P.Sequence([P.Whitespace()]), 380, end_of_word_suffix="</w>", unk_token="<unk>")
    m["vocab"]["<unk>"] = n = len(m["vocab"])
    out["clip"] = whole(m, [token(n, "<unk>"), token(n + 1, "<s>", normalized=True)], decoder={"type": "BPEDecoder", "suffix": "</w>"},
                        normalizer=sequence("normalizers", {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}),
                        pre=split("'s|'t|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", "Removed", invert=True))
    m = byte_model(P.ByteLevel(add_prefix_space=False), 300)
    out["bytes"] = whole(m, normalizer=sequence("normalizers", {"type": "Prepend", "prepend": "x"}, {"type": "ByteLevel"}), pre={"type": "FixedLength", "length": 6}, decoder=BYTE_LEVEL)
    return out


def fixtures():
    from tokenizers import pre_tokenizers as P, Regex
    out = {}
    m = byte_model(P.Sequence([P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)]), 420)
    n = len(m["vocab"])
    out["gpt2"] = whole(m, [token(n, "<|im_start|>"), token(n + 1, "<|im_end|>"), token(n + 2, "<s>"), token(n + 3, "aaa", special=False, normalized=False)],
                        pre=sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, BYTE_LEVEL), decoder=BYTE_LEVEL, post=BYTE_LEVEL)
    isolated = P.Sequence([P.Split(Regex(LLAMA3), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    plain = dict(BYTE_LEVEL, use_regex=False)
    m = byte_model(isolated, 480, ignore_merges=True)
    m["vocab"]["ĠFrance"] = len(m["vocab"])  # a word that no merges lead to: ignore_merges finds it
    m["merges"] = [" ".join(x) for x in m["merges"]]
    n = len(m["vocab"])
    ids = {"<s>": n, "<|im_end|>": n + 1}
    out["llama3"] = whole(m, [token(n, "<s>"), token(n + 1, "<|im_end|>", lstrip=True), token(n + 2, "[MASK]", rstrip=True)],
                          pre=sequence("pretokenizers", split(LLAMA3), plain), decoder=BYTE_LEVEL,
                          post=sequence("processors", BYTE_LEVEL, template("<s>", "A", ids=ids)))
    m = byte_model(P.Sequence([P.Split(Regex(QWEN2), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), 450)
    n = len(m["vocab"])
    out["qwen2"] = whole(m, [token(n, "<|im_start|>"), token(n + 1, "<|im_end|>"), token(n + 2, "Yes", special=False, normalized=True, single_word=True)],
                         normalizer={"type": "NFC"}, pre=sequence("pretokenizers", split(QWEN2), plain), decoder=BYTE_LEVEL)
    out["tekken"] = whole(m, [token(n, "<s>"), token(n + 1, "<|im_end|>")], pre=sequence("pretokenizers", split(TEKKEN), dict(plain, add_prefix_space=True)),
                          normalizer={"type": "NFD"}, decoder=BYTE_LEVEL, post=template("<s>", "A", "<|im_end|>", ids={"<s>": n, "<|im_end|>": n + 1}))
    specials = [token(0, "<unk>"), token(1, "<s>"), token(2, "</s>")]
    strip = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    out["spm"] = whole(spm_model(), specials, post=template("<s>", "A", ids={"<s>": 1}),
                       normalizer=sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}),
                       decoder=sequence("decoders", *strip, {"type": "Strip", "content": " ", "start": 1, "stop": 0}))
    m = spm_model()
    m.update(byte_fallback=False)
    out["spm_unk"] = dict(out["spm"], model=m)
    m = with_bytes(train(P.Metaspace(prepend_scheme="never"), 500, "▁"), ["<pad>", "<eos>", "<bos>", "<unk>"])
    m.update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    n = len(m["vocab"])
    added = [token(i, t) for i, t in enumerate(["<pad>", "<eos>", "<bos>", "<unk>"])] + [
        token(n, "<s>"), token(n + 1, "<|im_end|>"), *(token(n + 2 + k, "\n" * (k + 1), special=False, normalized=False) for k in range(8)),
        token(n + 10, "▁▁▁", special=False, normalized=False), token(n + 11, "  ", special=False, normalized=False)]
    out["gemma"] = whole(m, added, normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, pre=split(" ", "MergedWithPrevious", kind="String"),
                         post=template("<bos>", "A", ids={"<bos>": 2}), decoder=sequence("decoders", *strip))
    m = train(P.Metaspace(prepend_scheme="first"), 380, "▁")
    m["vocab"]["<unk>"] = n = len(m["vocab"])
    m.update(unk_token="<unk>", fuse_unk=False)
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    out["metaspace"] = whole(m, [token(n, "<unk>"), token(n + 1, "<s>", single_word=True), token(n + 2, "YES", special=False, normalized=True)], pre=meta, decoder=meta,
                             normalizer=sequence("normalizers", {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True},
                                                 {"type": "Replace", "pattern": {"Regex": "\\s{2,}|[.]{3}"}, "content": " "}))
    m = train(P.Sequence([P.Whitespace(), P.Punctuation()]), 350, continuing_subword_prefix="##", end_of_word_suffix="</w>", unk_token="[UNK]")
    m["vocab"]["[UNK]"] = n = len(m["vocab"])
    out["words"] = whole(m, [token(n, "[UNK]"), token(n + 1, "[MASK]", lstrip=True, rstrip=True), token(n + 2, "ab", special=False, normalized=False, single_word=True)],
                         normalizer={"type": "NFKD"},
                         pre=sequence("pretokenizers", {"type": "Whitespace"}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": False},
                                      split("e|[0-9]{2}", "MergedWithNext"), split("a", "MergedWithPrevious", invert=False, kind="String")))
    out.update(more_fixtures())
    kimi = byte_model(P.Sequence([P.Split(Regex(KIMI), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), 430)
    out["kimi"] = whole(kimi, pre=sequence("pretokenizers", split(KIMI), split("[\\p{L}[\\p{N}_]&&[^a-dä[x-z]]]+|[^\\p{L}&&[^0-9]]", "Isolated"), plain), decoder=BYTE_LEVEL)
    out["removed"] = whole(m, [token(n, "[UNK]")], pre=sequence("pretokenizers", {"type": "WhitespaceSplit"}, split("\\w+", "Removed", invert=True), split("[a-d]", "Contiguous")))
    return out


EVERY = 13  # the ids themselves of every so many strings, for all others a fingerprint


def recorded(name, fixture):
    """The vocabulary and merges that are committed: trainers break ties by hashes with a new seed in every run."""
    old = json.loads((OUT / f"{name}.json").read_text(encoding="utf-8"))["model"]
    learnt = ("vocab", "merges")
    if {k: v for k, v in old.items() if k not in learnt} != {k: v for k, v in fixture["model"].items() if k not in learnt} or \
            len(old["vocab"]) != len(fixture["model"]["vocab"]):
        sys.exit(f"{name}: its model is no longer what {name}.json has; --train makes it anew")
    fixture["model"].update({k: old[k] for k in learnt if k in old})


def write(train_anew):
    from tokenizers import Tokenizer
    OUT.mkdir(parents=True, exist_ok=True)
    texts = corpus()
    dump(OUT / "strings.json", texts)
    for name, fixture in fixtures().items():
        trained = fixture["model"].get("trained", False)
        fixture["model"] = {k: v for k, v in fixture["model"].items() if k != "trained"}
        if trained and not train_anew:
            recorded(name, fixture)
        text = json.dumps(fixture, ensure_ascii=False)
        t = Tokenizer.from_str(text)
        (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        rng = random.Random(name)
        size = t.get_vocab_size()
        streams = [[rng.randrange(size + 2) for _ in range(rng.randint(0, 12))] for _ in range(120)]
        streams += [t.encode(s).ids for s in texts[::19]]
        ids = [t.encode(s).ids for s in texts]
        dump(OUT / f"{name}.vectors.json", {
            "fingerprints": ["".join(fingerprint(i) for i in ids[k:k + 12]) for k in range(0, len(ids), 12)],
            "every": [EVERY],
            "ids": ids[::EVERY],
            "plain": [t.encode(s, add_special_tokens=False).ids for s in texts[::3 * EVERY]],
            "long": [[unit, times, len(ids), sum((i + 1) * v for i, v in enumerate(ids)) % (1 << 31)]
                     for unit, times in LONG for ids in [t.encode(unit * times).ids]],
            "streams": streams,
            "decoded": [t.decode(i, skip_special_tokens=True) for i in streams],
            "decoded_all": [t.decode(i, skip_special_tokens=False) for i in streams]})


def dump(path, value):
    """One row a line, so that a change shows as one."""
    def rows(v):
        return "[\n" + ",\n".join(json.dumps(x, ensure_ascii=True, separators=(",", ":")) for x in v) + "\n]"
    text = rows(value) if isinstance(value, list) else "{\n" + ",\n".join(json.dumps(k) + ": " + rows(v) for k, v in value.items()) + "\n}"
    path.write_text(text + "\n", encoding="ascii")


def write_gguf(path, name):
    from llama_cpp import Llama
    m = Llama(path, vocab_only=True, verbose=False)
    texts = strings()  # the first ones of corpus()
    dump(OUT / f"{name}.gguf.json", {
        "ids": [m.tokenize(s.encode(), add_bos=False, special=True) for s in texts],
        "plain": [m.tokenize(s.encode(), add_bos=False, special=False) for s in texts[::9]]})


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--gguf":
        write_gguf(sys.argv[2], sys.argv[3])
    elif sys.argv[1:] in ([], ["--train"]):
        write(bool(sys.argv[1:]))
    else:
        sys.exit(__doc__)
