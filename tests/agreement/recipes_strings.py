"""Recipes of tf.strings, and of the functions that read and write text and bytes."""

from generator import EVERY, NUMBERS, recipe
from recipes_array import a_dtype

PATTERNS = ("a", "[a-z]+", ".*", "", "b|c", "(a)(b)?", r"\d+", r"\s", "^h", "[^,]", "é", "(")


def text(d, low=0, high=2):
    return d.array("string", d.shape(low, high))


@recipe("strings.lower", "strings.upper")
def _(d):
    return d.keywords({"input": text(d)}, 40, encoding=d.pick(("", "utf-8")))


@recipe("strings.strip", "strings.bytes_split")
def _(d):
    return {"input": text(d)}


@recipe("strings.length")
def _(d):
    return d.keywords({"input": text(d)}, 60, unit=d.pick(("BYTE", "UTF8_CHAR")))


@recipe("strings.substr")
def _(d):
    shape = d.shape(0, 2)
    if d.flag():
        arguments = {"input": d.array("string", shape), "pos": d.between(-2, 1),
                     "len": d.between(0, 3)}  # fmt: skip
    else:
        dtype = d.pick(("int32", "int64"))
        arguments = {"input": d.array("string", shape),
                     "pos": d.array(dtype, shape, "range -1 1", "tensor"),
                     "len": d.array(dtype, shape, "range -1 4", "tensor")}  # fmt: skip
    return d.keywords(arguments, 30, unit=d.pick(("BYTE", "UTF8_CHAR")))


@recipe("strings.join")
def _(d):
    shape = d.shape(0, 2)
    parts = [d.tensor("string", [] if d.chance(20) else shape) for _ in range(d.between(1, 3))]
    return d.keywords({"inputs": parts}, 50, separator=d.pick(("", "-", ", ")))


@recipe("strings.reduce_join")
def _(d):
    shape = d.shape(0, 3)
    arguments = d.some({"inputs": d.array("string", shape)}, 60, axis=lambda: d.axes(len(shape)))
    return d.keywords(arguments, 40, keepdims=d.flag(), separator=d.pick(("", "-")))


@recipe("strings.unsorted_segment_join")
def _(d):
    shape = d.shape(1, 2)
    arguments = {"inputs": d.array("string", shape), "segment_ids": d.ints(shape[:1], 0, 3),
                 "num_segments": 3}  # fmt: skip
    return d.keywords(arguments, 40, separator=d.pick(("", "-")))


@recipe("strings.regex_full_match")
def _(d):
    return {"input": text(d), "pattern": d.pick(PATTERNS)}


@recipe("strings.regex_replace")
def _(d):
    arguments = {"input": text(d), "pattern": d.pick(PATTERNS),
                 "rewrite": d.pick(("", "X", r"<\0>", r"\1"))}  # fmt: skip
    return d.keywords(arguments, 40, replace_global=d.flag())


@recipe("strings.split")
def _(d):
    arguments = d.some({"input": text(d, 0, 2)}, 50, sep=d.pick((",", " ", "b", "")))
    return d.keywords(arguments, 40, maxsplit=d.pick((-1, 1, 2)))


@recipe("strings.format")
def _(d):
    return {"template": d.pick(("{}", "a {} b", "{} and {}")),
            "inputs": [d.tensor(EVERY, d.shape(0, 2)) for _ in range(d.between(1, 2))]}  # fmt: skip


@recipe("strings.to_hash_bucket", "strings.to_hash_bucket_fast")
def _(d):
    return {"input": text(d), "num_buckets": d.between(1, 100)}


@recipe("strings.to_hash_bucket_strong")
def _(d):
    return {"input": text(d), "num_buckets": d.between(1, 100),
            "key": [d.below(99), d.below(99)]}  # fmt: skip


@recipe("strings.to_number")
def _(d):
    arguments = {"input": d.array("string", d.shape(0, 2), d.pick(("numeral", "numeral", "word")))}
    return d.some(arguments, 50, out_type=lambda: a_dtype(d, ("float32", "float64", "int32",
                                                              "int64")))  # fmt: skip


@recipe("as_string", "strings.as_string")
def _(d):
    arguments = {"input": d.array((*NUMBERS, "bool"), d.shape(0, 2))}
    return d.keywords(arguments, 25, precision=d.between(0, 5), width=d.between(1, 9),
                      fill=d.pick(("0", " ", "")), scientific=d.flag(),
                      shortest=d.flag())  # fmt: skip


@recipe("strings.ngrams")
def _(d):
    arguments = {"data": d.array("string", d.shape(1, 2)), "ngram_width": d.between(1, 3)}
    if d.flag():
        arguments["pad_values="] = {"u": ["<", ">"]}
    return d.keywords(arguments, 30, separator="-", preserve_short_sequences=d.flag())


ENCODINGS = ("UTF-8", "UTF-8", "UTF-16-BE", "UTF-32-BE")


@recipe("strings.unicode_decode", "strings.unicode_decode_with_offsets",
        "strings.unicode_split", "strings.unicode_split_with_offsets")  # fmt: skip
def _(d):
    arguments = {"input": text(d, 0, 1), "input_encoding": d.pick(("UTF-8", "UTF-8", "UTF-16-BE"))}
    return d.keywords(arguments, 30, errors=d.pick(("replace", "ignore", "strict")))


@recipe("strings.unicode_encode")
def _(d):
    arguments = {"input": d.array("int32", d.shape(1, 2), "range 40 300"),
                 "output_encoding": d.pick(ENCODINGS)}  # fmt: skip
    return d.keywords(arguments, 30, errors=d.pick(("replace", "ignore", "strict")))


@recipe("strings.unicode_script")
def _(d):
    return {"input": d.array("int32", d.shape(0, 2), "range 40 9000")}


@recipe("strings.unicode_transcode")
def _(d):
    arguments = {"input": text(d), "input_encoding": d.pick(ENCODINGS),
                 "output_encoding": d.pick(ENCODINGS)}  # fmt: skip
    return d.keywords(arguments, 25, errors=d.pick(("replace", "ignore", "strict")),
                      replacement_char=d.pick((65, 65533)),
                      replace_control_characters=d.flag())  # fmt: skip


@recipe("io.encode_base64")
def _(d):
    return d.some({"input": text(d)}, 40, pad=d.flag())


@recipe("io.decode_base64")
def _(d):
    if d.flag():
        return {"input": text(d)}
    return {"input": {"v": ["tensor", "string", ["aGVsbG8", "YQ", "YQ==", ""][d.below(3) :]]}}


@recipe("io.decode_raw")
def _(d):
    words = [["abcdefgh", "12345678"], ["abcd"], "0123456789abcdef", ["ab", "cd", "ef"]]
    arguments = {"input_bytes": {"v": ["tensor", "string", d.pick(words)]},
                 "out_type": a_dtype(d, ("uint8", "int16", "float32", "int32", "int64", "int8",
                                         "float16"))}  # fmt: skip
    return d.keywords(arguments, 30, little_endian=d.flag(), fixed_length=d.pick((2, 4, 8)))


@recipe("io.serialize_tensor")
def _(d):
    return {"tensor": d.array(EVERY, d.shape(0, 2))}


@recipe("io.decode_csv")
def _(d):
    rows = [["1,2.5,a", "-3,,b"], ['7,1e3,"x,y"'], "1,2,3", ["a,b,c"], ["1,2"]]
    arguments = {"records": {"v": ["tensor", "string", d.pick(rows)]},
                 "record_defaults": [[0], [1.5], ["z"]]}  # fmt: skip
    return d.keywords(arguments, 20, use_quote_delim=d.flag(), na_value=d.pick(("", "a")),
                      field_delim=d.pick((",", ";")))  # fmt: skip
