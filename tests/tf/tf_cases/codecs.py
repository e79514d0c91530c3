"""Files of pictures and of sound: every format, what is asked of it, what is refused."""

from __future__ import annotations

import base64
import struct

import numpy as np
from corpus import plain, raises


def _file(text: str) -> bytes:
    return base64.b64decode(text)


# Pictures of 7 x 5 (PNG, GIF, BMP) and 33 x 21 (JPEG).
PNG = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFCAIAAAAG+GGPAAAAaklEQVR4nAXBUQ7CIAwAUIcYhwi0tKytwWm2aJbo"
    "l0fyaJ7U9wb//a3wfry60GLb9UN3fq4OQgmZ9jlqrkpUNAMmJ8d54cNlbDwjnGO1aereiUIiMQuFPSifcOCdudYF"
    "MEIqod4oNeQOan9AJAkN4l5B9QAAAABJRU5ErkJggg=="
)
PNG_ALPHA = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFCAQAAAAjkz5TAAAAUklEQVR4nAXBWwqAIBAAwFb88FFqrm5uG1hQEPTX"
    "cbr/QZqB4XuPinKdDy+3aHaOsMsWIFiTVOjeJMym8poJVY9RGniHFvNYNNTu1d4KzVMj/gHw2AW/wGAo2wAAAABJ"
    "RU5ErkJggg=="
)
PNG_PALETTE = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFBAMAAAB7tOvrAAAAIVBMVEWn8UmP6TB7yiNYpvdMlu1huAyyW6cygd0W"
    "arjVKHa2Clw+Y21SAAAABHRSTlP///8AQCqp9AAAACJJREFUeJxj6HBVWMD0/+2vD0xv5d8zMP0/v4CB6dKHDx8A"
    "nPUNd1A5TeUAAAAASUVORK5CYII="
)
PNG_WIDE = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFEAAAAAD8YXVHAAAAKElEQVR4nGNgYGDP5bsl5i67RVVRp4/F+DdHLvtv"
    "jt8QzGICZxLmAgAqJSAEkWSlQwAAAABJRU5ErkJggg=="
)
PNG_BITS = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFAQAAAACh4ct1AAAAEklEQVR4nGNIYVBgmMD0jkEJAAoyAieCeVGsAAAA"
    "AElFTkSuQmCC"
)
PNG_TRANSPARENT = _file(
    "iVBORw0KGgoAAAANSUhEUgAAAAcAAAAFCAAAAACs8akEAAAAAnRSTlMAMFBK/ZQAAAAVSURBVHicY2SQl5eXl5dn"
    "EoQAXDQAOHsCoF2ZADkAAAAASUVORK5CYII="
)
JPEG_GRAY = _file(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsj"
    "HBYWICwgIyYnKSopGR8tMC0oMCUoKSj/wAALCAAVACEBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcI"
    "CQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcY"
    "GRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKj"
    "pKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/ADwk"
    "lr8O/Aza1cQ7rtv9HsYjEXWW5ZWKBsEYX5SzHI4U45wCeFx/whvg3UPE+oN9p1Js+R9obe1zdSH5d2WBf5iXbB3b"
    "Vc9qPAUVr4R8N3fibxBL51x8zoLiU+Ze3LAsqbsMSztnJwcDcx4BNHgeH+wtB1nxnryfabhd95L8uzz55G+VflUh"
    "d8jgZC4XdnGBXHf8LF+J/wD0MP8A5T7X/wCNV2PiKH/hKviPDpVomdN0DdZp8v3pyR57cqCPmVUxkj93uB+ajxFc"
    "SeKfGUPhuxj26PoUzRMVLj7Rc4CyMynA+QhkXg/xkMQ+AeMR/b/jKw8Mae27TdF/1+xsrJdMPmzhiDsXCDIDKxlF"
    "ReL5n13xRaeENO8p9J0h0kuCqq3mXm0g/OCeEV9uPlIYuCDhcdp/wgP/AEy/SuU8NMng34X6trmnpm9t4USBuP3c"
    "kjrGr8gg7S4bBGDtx3zVXw0yeDfhfq2uaemb23hRIG4/dySOsavyCDtLhsEYO3HfNaHwp0+HQfBeravZxxPc6fp8"
    "93EsqkozxxswDAEHGQM4IqH4aQHTvCuueId/2vUrayuL/fdZk82VUZ8uc5bLDnnJyea8k/4SLxX/ANDj4l/8Gc//"
    "AMXX/9k="
)
JPEG = _file(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsj"
    "HBYWICwgIyYnKSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo"
    "KCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wgARCAAVACEDASIAAhEBAxEB/8QAGAABAQEBAQAAAAAAAAAAAAAA"
    "AAMBAgT/xAAYAQACAwAAAAAAAAAAAAAAAAABAgADBf/aAAwDAQACEAMQAAAB3NCOKcwReoLpCxZ9CpEbeV//xAAg"
    "EAEAAQMDBQAAAAAAAAAAAAADAgABEwQRIhIUISMx/9oACAEBAAEFAm4wfc4tbGKeo8aUP0fKDuqnbI3dVqONNLoi"
    "8scNRwDHev/EACoRAAEBAwkJAAAAAAAAAAAAAAEAAgMhBRIzQUJSYYHRERMUIjGSocHh/9oACAEDAQE/AaOjswGL"
    "VZy0VH0sQGLR09LhJRvNd31Dlm7KnZOcYoGYXc2pgnOMfC3ry8V//8QAJBEAAQMDAgcBAAAAAAAAAAAAAQACIQMR"
    "QWHwBBITFCJCU3H/2gAIAQIBAT8BhsVJtLtXYG9FAipjyd+4G9F3nEfEKmA7kvlxTZ6YPs43Vgv/xAAmEAABAwMC"
    "BQUAAAAAAAAAAAABAAIDESExQUIyM4GR8DRRYXGi/9oACAEBAAY/AmQs6psYHFc11TY9zrnzzCawZdn6XGOyM0pL"
    "gMn3TppduU6STTNk6R9gLr0/7TY9tK9cIRNxStUIm4pVRgam/wA+VXMf3X//xAAkEAEAAQIFBAMBAAAAAAAAAAAB"
    "EQAhMUFRkaFhcYHBsdHx8P/aAAgBAQABPyE54Ye7I+WHpV36I41W5F2qIL9Skm27eiv/AB4t3R5Z2r8BSHAABLLT"
    "g0rJQkj64Ci1gXRsIL7YVneTi8QdNC1R/r6oyDCbcZLSO0QOWN0D3URIhaZ3QPdPKjPYSJ5eK/Q1/9oADAMBAAIA"
    "AwAAABAgUPwED//EACARAQABAwQDAQAAAAAAAAAAAAEhABFhMVGRsUGB8dH/2gAIAQMBAT8QVs1GjkTQ6ON1CSmZ"
    "HlOSyMDevmKEDjacdiDgpCQsfpzQ4r7D+1//xAAgEQABBAIBBQAAAAAAAAAAAAABABExYVGRIUHR4fDx/9oACAEC"
    "AQE/EBYr2SCIeOj4I8pX2C8bBPujuhs7g2cnZQv5DqzAka9hUL//xAAeEAEBAAIDAAMBAAAAAAAAAAABESExAEFR"
    "YcHwEP/aAAgBAQABPxDRzF8ot0X5QnV4F66wdgHe00sFynEPm66HruKkRDteM2mtFSlKZzFGx0R5+x+uArvZCDoS"
    "sOgdHMbUd5bI19BL0HCMEsxsgBcAG3F7b4IxQQxRmZUtu7/OsgAaCQNvUKgTb8TQnOV0pqCYNrNTKj+pp0pqCbWs"
    "1MuWG6LUTZktD0ZN8/affP/Z"
)
JPEG_PRINTED = _file(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAGBAUGBQQGBgUGBwcGCAoQCgoJCQoUDg8MEBcUGBgXFBYWGh0lHxobIxwW"
    "FiAsICMmJykqKRkfLTAtKDAlKCko/8AAFAgAFQAhBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAAB"
    "AgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNi"
    "coIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SV"
    "lpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4E"
    "QwBNAFkASwAAPwCPXJh4++ItvpVzJu0uLdeX+WwPIQjcvDBvnYqmVORv3YIBpnw/bb/bPjjUhz81lppdeh/5azLl"
    "fpGGU/8APVSKdepP4M8A2WgRxSy63eubi6iiG5nupMDywAzAkAJGNvDbQcZNReKifGHjXT/DGnr9m01VHneQuxbW"
    "0jHzbcKVT5QFXIxuZR0NRa/MPFXj7SvDtnaxjS4XWS5iUMkUVnFjeo2D5AVARcYGXUZGRUvgAzfa9U8camyfZgkt"
    "lYRyxEsWJUvOjHgAAGMFc5LODjGGinnXwR8MIrWS4uPt2oEaldpcJsaGWSNAYtvUbQiqc9SCcDOA7x5JdeL/ABLa"
    "eGNCgMNsMIxhiXZZWq4Vn2gqAiL0GRk7VHJAM/ikt4w8Y6f4X08fZdLX/X/Zl2rbWsYG7bhSE+XCrxt3FRwDUXgu"
    "C4vdcn8cag9za2Nh5kWnrgBbqR1eORsnkqgOOBgs33vkZTe1aOH4e+AltZI4o9eukFxqcoALtKckRlgxBEeSg2nB"
    "IZgPnNN8dTjXdd0XwZoL+RAdlnH83meRAi/M3zsN2yNScZy2MdTUnjCZ/Fni7TvDWm20q2AdFuEs1WMWtorKHYZG"
    "1Aq8DIxnaACSAU8B3X9q+LtV8W3E9xHFoxMNsoTEc80kbqwL9DsQglRzmRDkDhootvgb4bD7cgi1rU/9NvSylXTI"
    "/dxHKqw2LjKt0dpMdaveN5jruv6N4O8Psba3JWzh5D/Z7eNBk/OwLbI1LYJyduOprpv+Fb/DT/oAf+T91/8AHa0/"
    "+E6/6eW/77rxz/hPY/736mp/+FJ+CP8AoYPEf/gTB/8AGq5+Ir4I+HCm9Xy9a1T/AEy9Dja8YI/dxNlQw2JjKtnD"
    "tJjg1m+OVOo32m+CvBkNtaIQ0FtCX2RxKAXZ2Y8nADOTyzcnljz6z4ftZvFXjSbxJqEgGkaFOJV3BwJ7nBZFVgQP"
    "kIV25P8AACCHJGX4dgXwt4On8S3z79Y12ESorBD9nts7kVWBJ+cFXbn+4CoKZMOiTw+F/hoNTmWWLVtdjW6uWeUO"
    "PKBfyAoBwB5bhv72XIJGAAeOD82jeCPCi7gNllb5X/vqWTy1/wB6R2C/3mxUOiXEvin4mf2pIscmk6FILu5LSlCJ"
    "sN5AUA5J3qG9MIQTyA1jwpDJ4X8I3viLVBGuqa4iyW53I5jsyAyDIGVLkliMkECPIBBwmiWs/gzwjf6tr9lFB4h1"
    "Jyw35M0VthdkTA/cJbcxUc8ru5UBbfjZlH9j+CPCY4Oyyg47/wAUsmxf96R2A/vtjrRbo/j3x89zeeVJoOjutzfi"
    "RlPmEljFFsIO4My/MMY2hhkEjLfAlzBpXgnUvFl0Y3vdZd44WBBaG3jYqV+6CC0isWAJBCxngipvDsEfhbwZL4jv"
    "5f8Aica7AJFDBD9nt8kxhGBJO8FXPI/gBUFcmp47lj0TS9M8KeHYreS9k8m0DQRJB9ruSFi8xhnG5yBksx9zU8JP"
    "jr4jZulMuiaZi9vd65Ryp+SI5VlO9hypxlFkxyKl8Ej+x/D2p+LNUt7i31XUt8Fo0zEKbL5GDKnbe4Jy38KKQAGy"
    "3nv/AAsBf+fw/wDfX/16n/4USv8A0PX/AJTB/wDH69G/4Txv+e5/75rkP+E7T/nqv/fa/wCFehf2MnxB+IU+m61N"
    "INNtLd76aGM4NwFkVRHu6qCXBJHOAQMEhhF8ObOOXT/EPi26SKe/iuXsbXepzbBUVnZTnGXEoXOMgKRnDEVw/wAQ"
    "bBfh/wCD4/D1g/niEPLPc7Fja4lblnIA+ijJJCqoycZrqvESv40+J+k6FqLAWU8zSTKcnzERGlZOCCNwQrkHIznn"
    "GKr67JL4m+LehaTdmL7M9w1xKskYlSVYUaUxsp4IcR7Tns3Q9De+GiOmn+JvFLvvvXuDpUYyw8uNVSVz1wdxaPtk"
    "eXwfmIqtqNyvhz4RaDFp0ePttnHfzu2A7yzIsjEkAZxuCjPO1VGTim+JbIeLfHej+EzIdO02bcmLVQPKiiiZ9kYx"
    "heE2jjC8HBxgyeJ1fxj8U9J0HUJCtncTPJMMn95HGjSsnBBG4IV3A5G7POKd8O7DzU1rxncyedewSyafbRMgIhys"
    "bPKGOTvIfaMYwpcHO7iW4jfwr8ItMS1fzJtSgGqXEvI3PMqsBgk42psTjGdmcAk1X+Jlx/aHirR9AK/ZdNnvbaw8"
    "u1Cx+VE0iphBghcL0GMDA44qXxjFL44+I2neGrq5ktLW8kk82WLBfaiO5C54BITAJzjOcHGDU+GFyL3xJ4q1y4Tf"
    "eaXbxR2obBVPO8zcwyMhsRbQQR8ruDnPGV4X1CbTvgta3UEkrS6pc3N5NvYEK4kMOF46bYlPOeSfpVv4lzf2j4o0"
    "Tw+AbTTbi+t9P2W21PKiaQR4QYwuFPHGBxxXon/CPeE/+hO8Of8Agtg/+Iqz/wAJFe/3z+deS/8ACUXvt+Q/wr1b"
    "/hHPCH/Ql+HP/BbB/wDEV//Z"
)
GIF = _file(
    "R0lGODdhBwAFAIMAAKXyQYzeLHzRIU2o82a0BjKG1BNkstUkcrkNVwAAAAAAAAAAAAAAAAAAAAAAAAAAACwAAAAA"
    "BwAFAAAIIAANFBhAIAAABAIJCAiA4MBAhQAOOBwg4KBEggYbGggIADs="
)
GIF_FRAMES = _file(
    "R0lGODlhBwAFAIMAAKPzPoPcKH7MFVmt+Vab9e1BizmH1hNntNAgbLYHVgAAAAAAAAAAAAAAAAAAAAAAACH5BAUA"
    "AAIALAAAAAAHAAUAAAghAA8YIDAgAAAEAgkIAJAAwUABBhEUMDBgYcMCCgNcPBAQACH5BAUAAAIALAAAAAAHAAUA"
    "g630Rp/sO43bIXnRHGK3B/BJkzmN1yRxutUhc7wIUwAAAAAAAAAAAAAAAAAAAAAAAAghAA8cMEBAAIAEAw0MCJAA"
    "wcCCABAgILgwYgGCAhoWKBAQACH5BAUAAAIALAAAAAAHAAUAg6byS5DeLYLTI3TEGU+f6mK3CfhDmz6H1R9ov9Ik"
    "dLgFYAAAAAAAAAAAAAAAAAAAAAgjABEgIFBAAAAFCA4QGBBAQYKBBQIASGDgQIEBBykuNEjRQEAAOw=="
)
GIF_INTERLACED = _file(
    "R0lGODdhBwANAIMAAKj1Ro/lMHnLG1an9jyJ2fZHluQzf9UgcBhrvgAAAAAAAAAAAAAAAAAAAAAAAAAAACwAAAAA"
    "BwANAAAIPQARICAgQACAAwMHCAhw4AABhQEOGni48ICBAgoNWkRQUGIBjhE3cvQ4kOGBjw8lCkx5MqEAiygHMIy5"
    "MCAAOw=="
)
BMP = _file(
    "Qk2uAAAAAAAAADYAAAAoAAAABwAAAAUAAAABABgAAAAAAHgAAADEDgAAxA4AAAAAAAAAAAAA9p9GEb5mL9WLTgCq"
    "ZhTOhULqrlIKAAAA1oVG/alXHMhyQe2dWw23eS/OmU/7AAAAzIEq6pxGELBgLNuSQvmnYB/Bjj7eAAAAt2ka24M7"
    "AaRiE8ZyNe2dUwO+cyHZAAAAoFoD0nkv5JJFCL1wIdaCQPmoZRXGAAAA"
)
BMP_ALPHA = _file(
    "Qk3CAAAAAAAAADYAAAAoAAAABwAAAAUAAAABACAAAAAAAIwAAADEDgAAxA4AAAAAAAAAAAAA6JdOOwjCY2I02It6"
    "SQO0n2oZwbKOPe7QrVwJ+eKMRSz2pGFEHdF0ZjLlm41W/7+sfiPgwJM+++jMejAV7pxEPwG8bWMf2ZByRfqkl2ga"
    "zLmJOurOtGskBeGIOSL5q2JOIMN4Zzrmjn1fDb2ifB7PzaVRCgDScSIV6J0+PRCyalclzYNuO+ybmWQdwbQ="
)
# Gray, from the top: the height is negative.
BMP_GRAY = (
    b"BM" + struct.pack("<IIIIiiHH", 62, 0, 54, 40, 3, -2, 1, 8) + bytes(24) + b"\1\2\3\0\4\5\6\0"
)
WAV = (
    b"RIFF4\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0D\xac\0\0\x10\xb1\2\0\4\0\x10\0"
    b"data\x10\0\0\0\0@\0\x80\0\0\0 \xfd\x7f\1\0\2\0\xfd\xff"
)
ODD_WAV = WAV[:36] + b"LIST\3\0\0\0abc" + WAV[36:]


def _floats(tf, tensors):
    """JPEG pixels, which another libjpeg may round in another way, as floats."""
    return [tf.cast(x, tf.float32) for x in tensors]


def _picture(*shape: int, dtype="uint8"):
    n = int(np.prod(shape))
    return (np.arange(n) * 37 % 251).reshape(shape).astype(dtype)


# ---- PNG ---------------------------------------------------------------------------------------


@plain("tf.io.decode_png", "channels")
def _png_channels(tf):
    files = [PNG, PNG_ALPHA, PNG_PALETTE, PNG_BITS, PNG_TRANSPARENT, PNG_WIDE]
    return [tf.io.decode_png(file, channels=n) for file in files for n in (0, 1, 3, 4)]


@plain("tf.io.decode_png", "16 bits")
def _png_wide(tf):
    files = [PNG, PNG_ALPHA, PNG_PALETTE, PNG_BITS, PNG_TRANSPARENT, PNG_WIDE]
    return [tf.io.decode_png(file, dtype=tf.uint16) for file in files]


@plain(("tf.io.encode_png", "tf.image.encode_png"), "")
def _png_written(tf):
    results = []
    for channels in (1, 2, 3, 4):
        for dtype in ("uint8", "uint16"):
            picture = _picture(3, 5, channels, dtype=dtype)
            file = tf.io.encode_png(tf.constant(picture), compression=channels * 2)
            results.append(tf.io.decode_png(file, dtype=dtype))
    batch = tf.image.encode_png(tf.constant(_picture(2, 3, 4, 5, 1)))
    results += [batch.shape, tf.image.decode_png(batch[1, 2])]
    return [*results, tf.io.encode_png(tf.zeros([0, 2, 2, 3], tf.uint8)).shape]


# ---- JPEG --------------------------------------------------------------------------------------


@plain("tf.io.decode_jpeg", "channels", atol=2)
def _jpeg_channels(tf):
    found = [tf.io.decode_jpeg(file, channels=n) for file in (JPEG, JPEG_GRAY) for n in (0, 1, 3)]
    return _floats(tf, [*found, tf.io.decode_jpeg(JPEG_PRINTED)])


@plain("tf.io.decode_jpeg", "options", atol=2)
def _jpeg_options(tf):
    return _floats(
        tf,
        [
            tf.io.decode_jpeg(JPEG, dct_method="INTEGER_ACCURATE"),
            tf.io.decode_jpeg(JPEG, dct_method="INTEGER_FAST"),
            tf.io.decode_jpeg(JPEG, fancy_upscaling=False),
            *(tf.io.decode_jpeg(JPEG, ratio=n) for n in (2, 4, 8)),
            tf.io.decode_jpeg(JPEG_GRAY[:700], acceptable_fraction=0.3),
        ],
    )


@plain(("tf.io.decode_and_crop_jpeg", "tf.image.decode_and_crop_jpeg"), "", atol=2)
def _jpeg_window(tf):
    windows = [[1, 2, 3, 4], [0, 0, 21, 33], [9, 17, 12, 16], [20, 32, 1, 1]]
    found = [tf.io.decode_and_crop_jpeg(JPEG, window, channels=3) for window in windows]
    found.append(tf.image.decode_and_crop_jpeg(JPEG_PRINTED, [3, 5, 7, 9]))
    return _floats(tf, [*found, tf.io.decode_and_crop_jpeg(JPEG, [1, 2, 3, 4], ratio=2)])


@plain(("tf.io.extract_jpeg_shape", "tf.image.extract_jpeg_shape"), "")
def _jpeg_shape(tf):
    found = [tf.io.extract_jpeg_shape(file) for file in (JPEG, JPEG_GRAY, JPEG_PRINTED)]
    return [*found, tf.image.extract_jpeg_shape(JPEG, tf.int64)]


@plain(("tf.io.is_jpeg", "tf.image.is_jpeg"), "")
def _is_jpeg(tf):
    return [tf.io.is_jpeg(x) for x in (JPEG, PNG, b"", [JPEG, b"abc"])]


@plain(("tf.io.encode_jpeg", "tf.image.encode_jpeg"), "", atol=3)
def _jpeg_written(tf):
    gray, coloured = (tf.constant(_picture(9, 13, n)) for n in (1, 3))
    files = [
        tf.io.encode_jpeg(gray),
        tf.io.encode_jpeg(coloured),
        tf.io.encode_jpeg(coloured, quality=30, progressive=True, optimize_size=True),
        tf.io.encode_jpeg(coloured, format="rgb", chroma_downsampling=False),
        tf.image.encode_jpeg(gray, format="grayscale", xmp_metadata="<x/>", density_unit="cm"),
        tf.raw_ops.EncodeJpegVariableQuality(images=coloured, quality=tf.constant(40)),
    ]
    return _floats(tf, [tf.io.decode_jpeg(file, dct_method="INTEGER_ACCURATE") for file in files])


@plain("tf.io.encode_jpeg", "what the file says of itself")
def _jpeg_header(tf):
    picture = tf.constant(_picture(4, 4, 3))
    file = tf.io.encode_jpeg(picture, density_unit="cm", x_density=7, y_density=500)
    marked = tf.io.encode_jpeg(picture, xmp_metadata="<x/>")
    return [
        tf.io.decode_raw(tf.strings.substr(file, 0, 20), tf.uint8),
        tf.io.decode_raw(tf.strings.substr(marked, 20, 37), tf.uint8),
    ]


# ---- GIF, BMP ----------------------------------------------------------------------------------


@plain(("tf.io.decode_gif", "tf.image.decode_gif"), "")
def _gif(tf):
    files = [GIF, GIF_FRAMES, GIF_INTERLACED, GIF_FRAMES[:230], PNG]
    return [tf.io.decode_gif(file) for file in files] + [tf.image.decode_gif(GIF)]


@plain(("tf.io.decode_bmp", "tf.image.decode_bmp"), "")
def _bmp(tf):
    files = [BMP, BMP_ALPHA, BMP_GRAY]
    found = [tf.io.decode_bmp(file, channels=n) for file in files for n in (0, 3, 4)]
    return [*found, tf.image.decode_bmp(BMP)]


# ---- any ---------------------------------------------------------------------------------------


@plain(("tf.io.decode_image", "tf.image.decode_image"), "dtypes", atol=1e-6)
def _image_dtypes(tf):
    dtypes = [tf.uint8, tf.uint16, tf.float32, tf.float64, tf.int32, tf.int8]
    files = [PNG, PNG_WIDE, GIF, BMP]
    found = [tf.io.decode_image(file, dtype=dtype) for file in files for dtype in dtypes]
    return [*found, tf.image.decode_image(PNG)]


@plain("tf.io.decode_image", "JPEG", atol=2)
def _image_jpeg(tf):
    dtypes = [tf.uint8, tf.float32]
    return _floats(tf, [tf.io.decode_image(JPEG, dtype=dtype) for dtype in dtypes])


@plain("tf.io.decode_image", "animations")
def _image_animations(tf):
    return [
        tf.io.decode_image(GIF_FRAMES, channels=3),
        tf.io.decode_image(GIF_FRAMES, expand_animations=False),
        tf.io.decode_png(GIF),
        tf.io.decode_jpeg(PNG),
    ]


@plain("tf.io.decode_image", "static shapes")
def _image_shapes(tf):
    functions = [
        tf.io.decode_png,
        tf.io.decode_gif,
        tf.io.decode_image,
        tf.io.extract_jpeg_shape,
        lambda x: tf.io.decode_image(x, channels=3, expand_animations=False),
        lambda x: tf.io.decode_jpeg(x, channels=1),
        lambda x: tf.io.decode_and_crop_jpeg(x, [0, 0, 3, 4], channels=3),
        lambda x: tf.audio.decode_wav(x).audio,
        lambda x: tf.audio.decode_wav(x, 2, 7).audio,
    ]
    spec = tf.TensorSpec([], tf.string)
    return [tf.function(f).get_concrete_function(spec).outputs[0].shape for f in functions]


@plain("tf.io.decode_image", "in a pipeline")
def _image_pipeline(tf):
    files = tf.data.Dataset.from_tensor_slices([PNG, PNG_PALETTE])
    pictures = files.map(lambda x: tf.io.decode_image(x, channels=3, expand_animations=False))
    return list(pictures.batch(2))


for _what, _words, _function in (
    ("nothing", "Input is empty", lambda tf: tf.io.decode_image(b"")),
    ("unknown", "Unknown image file format", lambda tf: tf.io.decode_image(b"hello")),
    ("a PNG that ends", "Invalid PNG data", lambda tf: tf.io.decode_png(PNG[:60])),
    ("a JPEG that ends", "Invalid JPEG data", lambda tf: tf.io.decode_jpeg(JPEG[:500])),
    ("a GIF that ends", "Invalid GIF data", lambda tf: tf.io.decode_gif(GIF[:60])),
    ("a BMP that ends", "Input size should match", lambda tf: tf.io.decode_bmp(BMP[:60])),
    ("two channels", "channels must be 0, 1, 3 or 4", lambda tf: tf.io.decode_png(PNG, 2)),
    ("JPEG with alpha", "does not support 4 channels", lambda tf: tf.io.decode_image(JPEG, 4)),
    ("gray GIF", "must be 0 or 3 for GIF", lambda tf: tf.io.decode_image(GIF, 1)),
    ("gray BMP", "0, 3 or 4 for BMP", lambda tf: tf.io.decode_bmp(BMP, 1)),
    ("a PNG as BMP", "Trying to decode PNG format", lambda tf: tf.io.decode_bmp(PNG)),
    ("a BMP as PNG", "Trying to decode BMP format", lambda tf: tf.io.decode_png(BMP)),
    ("frames as PNG", "Got 3 frames", lambda tf: tf.io.decode_png(GIF_FRAMES)),
    (
        "a window of a PNG",
        "can run on JPEG only",
        lambda tf: tf.io.decode_and_crop_jpeg(PNG, [0] * 4),
    ),
    ("a window outside", "crop window", lambda tf: tf.io.decode_and_crop_jpeg(JPEG, [0, 0, 9, 99])),
    ("three ints", "four elements", lambda tf: tf.io.decode_and_crop_jpeg(JPEG, [0, 0, 9])),
    ("the shape of a PNG", "Invalid JPEG data", lambda tf: tf.io.extract_jpeg_shape(PNG)),
    ("ratio", "ratio must be 1, 2, 4, or 8", lambda tf: tf.io.decode_jpeg(JPEG, ratio=3)),
    ("dct", "dct_method must be one of", lambda tf: tf.io.decode_jpeg(JPEG, dct_method="X")),
    ("several files", "contents must be scalar", lambda tf: tf.io.decode_image([PNG, PNG])),
    ("five channels", "1, 2, 3, or 4", lambda tf: tf.io.encode_png(_picture(2, 2, 5))),
    ("a matrix", "at least rank 3", lambda tf: tf.io.encode_png(_picture(2, 2))),
    ("compression", "[-1,9]", lambda tf: tf.io.encode_png(_picture(2, 2, 1), compression=10)),
    ("two colours", "1 or 3 channels", lambda tf: tf.io.encode_jpeg(_picture(2, 2, 2))),
    ("a batch", "3-dimensional", lambda tf: tf.io.encode_jpeg(_picture(1, 2, 2, 3))),
    ("quality", "[0,100]", lambda tf: tf.io.encode_jpeg(_picture(2, 2, 3), quality=101)),
    ("gray of three", "expects 1", lambda tf: tf.io.encode_jpeg(_picture(2, 2, 3), "grayscale")),
    ("a format", "not in the list", lambda tf: tf.io.encode_jpeg(_picture(2, 2, 3), "cmyk")),
):
    raises("tf.io.decode_image", _what, _words, _function)


# ---- sound -------------------------------------------------------------------------------------


@plain("tf.audio.decode_wav", "")
def _wav(tf):
    results = []
    for options in ({}, {"desired_channels": 1}, {"desired_channels": 3, "desired_samples": 6}):
        results += tf.audio.decode_wav(WAV, **options)
    results += tf.audio.decode_wav(WAV, desired_samples=2)
    return [*results, tf.audio.decode_wav(ODD_WAV).audio, type(tf.audio.decode_wav(WAV)).__name__]


@plain("tf.audio.encode_wav", "")
def _wav_written(tf):
    sound = [[0.5, -1.5], [float("nan"), 0.25], [0.9999, 1 / 65536], [1.5 / 32768, -2.5 / 32768]]
    files = [tf.audio.encode_wav(sound, 44100), tf.audio.encode_wav(tf.zeros([0, 2]), 100)]
    return [tf.io.decode_raw(file, tf.uint8) for file in files]


for _what, _words, _function in (
    ("cut", "Data too short", lambda tf: tf.audio.decode_wav(WAV[:50])),
    ("junk", "Header mismatch", lambda tf: tf.audio.decode_wav(b"junkjunk")),
    ("no data", "No data chunk found", lambda tf: tf.audio.decode_wav(WAV[:36])),
    ("data twice", "More than one data", lambda tf: tf.audio.decode_wav(WAV + WAV[36:])),
    ("8 bits", "16-bit WAV", lambda tf: tf.audio.decode_wav(WAV[:34] + b"\x08\0" + WAV[36:])),
    ("not PCM", "audio format", lambda tf: tf.audio.decode_wav(WAV[:20] + b"\3\0" + WAV[22:])),
    ("a vector", "2-dimensional", lambda tf: tf.audio.encode_wav([0.5], 100)),
    ("rate", "sample_rate must be in", lambda tf: tf.audio.encode_wav([[0.5]], 0)),
):
    raises("tf.audio.decode_wav", _what, _words, _function)
