#!/usr/bin/env python3
"""Writes the fuzz target's pictures, PNG and JPEG, into a folder: whole ones of each kind, cut off ones, and hostile ones.
  pictures.py FOLDER
"""
import pathlib
import struct
import sys
import zlib

GRAY, RGB, PALETTE, RGBA = 0, 2, 3, 6  # colour types (PNG, section 11.2.2)
INTERLACED = 1
ABC = b"\0abc"  # a line of a PNG: no filter, and a pixel


# PNG: https://www.w3.org/TR/png-3/ ---------------------------------------------------------------------------------------


def chunk(kind, content, crc=None):
    crc = zlib.crc32(kind + content) if crc is None else crc
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def header(width, height, depth, colours, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, interlace))


def png(head, lines, *before, data=None):
    """Returns a PNG with these lines, and with the chunks `before` the one that has them."""
    data = chunk(b"IDAT", zlib.compress(lines)) if data is None else data
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(before) + data + chunk(b"IEND", b"")


LINES = b"\0" + bytes(range(1, 10)) + b"\0" + bytes(range(2, 11))  # two of three pixels
RIGHT = png(header(3, 2, 8, RGB), LINES)
ONE = header(1, 1, 8, RGB)
HELLO = (chunk(b"tEXt", b"Comment\0hello"), chunk(b"iCCP", b"x\0\0" + zlib.compress(b"no profile")))
OF_PNG = {
    "animated": png(ONE, ABC, chunk(b"acTL", struct.pack(">II", 2, 0))),
    # Decompressed, its lines have 20 MB, of which a picture of one pixel needs four bytes.
    "bomb": png(ONE, ABC + bytes(20_000_000)),
    "comment": png(ONE, ABC, *HELLO),
    "cut_off": RIGHT[:50],
    "gray16": png(header(1, 1, 16, GRAY), b"\0\x12\x34"),
    "huge": png(header(30_000, 30_000, 8, RGB), ABC),
    "one_bit_interlaced": png(header(1, 1, 1, GRAY, INTERLACED), b"\0\x80"),
    "palette": png(header(2, 2, 8, PALETTE), b"\0\0\1" + b"\0\1\0", chunk(b"PLTE", bytes(range(6))), chunk(b"tRNS", b"\x80")),
    "rgb": RIGHT,
    "rgba": png(header(2, 2, 8, RGBA), bytes(9) + b"\1" + bytes(range(8))),
    # A byte of the compressed lines is another one.
    "wrong_crc": RIGHT[:45] + b"\x65" + RIGHT[46:],
}

# JPEG: ITU-T T.81 --------------------------------------------------------------------------------------------------------

# Pictures of 8 by 8 pixels. The coefficients are what cjpeg made of a few colours; the tables are those of annex K.
SOF_BASELINE, SOF_PROGRESSIVE, DHT, SOI, EOI, SOS, DQT, APP0, APP14 = 0xC0, 0xC2, 0xC4, 0xD8, 0xD9, 0xDA, 0xDB, 0xE0, 0xEE
JFIF = b"JFIF\0" + bytes.fromhex("010100000100010000")
ADOBE = b"Adobe" + bytes.fromhex("00640000000002")  # YCCK
LUMINANCE = ("0d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e2"
             "92d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524f")
CHROMINANCE = "0e0e0e131113261515264f352d35" + "4f" * 50
DC_LUMINANCE = "00010501010101010100000000000000000102030405060708090a0b"
DC_CHROMINANCE = "00030101010101010101010000000000000102030405060708090a0b"
AC_LUMINANCE = """
    0002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a
    25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798
    999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa"""
AC_CHROMINANCE = """
    00020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f117
    18191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a9293949596
    9798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa"""


def segment(marker, content):
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def table(marker, number, hexadecimal):
    return segment(marker, bytes([number]) + bytes.fromhex(hexadecimal))


def scan(parameters, coefficients):
    return segment(SOS, bytes.fromhex(parameters)) + bytes.fromhex(coefficients)


def jpeg(application, frame, *rest):
    """Returns a JPEG with the tables of quantization before its frame."""
    return (bytes([0xFF, SOI]) + application + table(DQT, 0, LUMINANCE) + table(DQT, 1, CHROMINANCE) + frame + b"".join(rest)
            + bytes([0xFF, EOI]))


def frame_of(marker, *components):
    return segment(marker, struct.pack(">BHHB", 8, 8, 8, len(components)) + b"".join(map(bytes.fromhex, components)))


Y, CB, CR, K = "012200", "021101", "031101", "042200"  # the component, its sampling, and its table
TABLES = (table(DHT, 0x00, DC_LUMINANCE), table(DHT, 0x10, AC_LUMINANCE), table(DHT, 0x01, DC_CHROMINANCE),
          table(DHT, 0x11, AC_CHROMINANCE))
NONE = "01" + "00" * 15 + "00"  # the table of one code, for the value 0
ONLY_ONE = "01" + "00" * 15 + "01"
WHOLE = jpeg(segment(APP0, JFIF), frame_of(SOF_BASELINE, Y, CB, CR), *TABLES,
             scan("03010002110311003f00", "63c705b2a178a18512728be6c0f6cbdf8f323e1cf1e983c9145145525624"))
OF_JPEG = {
    "jpeg": WHOLE,
    "jpeg_cut_off": WHOLE[:640],
    "cmyk": jpeg(segment(APP14, ADOBE), frame_of(SOF_BASELINE, Y, CB, CR, K), *TABLES, scan(
        "040100021103110400003f00",
        "4f3e4498e9be2262f139db15dc9d50fa39ee3fda3d3bf1c828a2a5bb94958416"
        "f2aceba8f87137c4f969ad10806338ce507707fba3907a641c028a2b")),
    "progressive": jpeg(
        segment(APP0, JFIF), frame_of(SOF_PROGRESSIVE, Y, CB, CR),
        table(DHT, 0x00, "010100000000000000000000000000000002"), table(DHT, 0x01, ONLY_ONE),
        scan("03010002100310000001", "909f"),
        table(DHT, 0x10, "0003010000000000000000000000000000010211"), scan("010100010502", "c527"),
        table(DHT, 0x11, NONE), scan("010301013f01", "7f"), table(DHT, 0x11, NONE), scan("010201013f01", "7f"),
        table(DHT, 0x10, "01000105000000000000000000000000010012213141a1"), scan("010100063f02", "c05f653d27"),
        table(DHT, 0x10, "01010101000000000000000000000000011100c1"), scan("010100013f21", "4451925474df"),
        scan("03010002000300000010", "f3"), table(DHT, 0x11, NONE), scan("010301013f10", "7f"),
        table(DHT, 0x11, "01010100000000000000000000000000010011"), scan("010201013f10", "0cbf"),
        table(DHT, 0x10, "01000203000000000000000000000000012151001131"), scan("010100013f10", "6d73dde8e0e2b4ca67")),
}

OTHERS = {"empty": b"", "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>'}


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {**OF_PNG, **OF_JPEG, **OTHERS}.items():
        (folder / name).write_bytes(content)


if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
main(sys.argv[1])
