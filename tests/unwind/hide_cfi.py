"""hide_cfi.py - copies of 64-bit ELF files without call frame information: files as some distributions and
many assemblers make them, whose truth is known from the original."""
import os
import struct

PT_NULL, PT_GNU_EH_FRAME = 0, 0x6474E550
HIDDEN = (".eh_frame", ".debug_frame")


def hide_cfi(source, copy):
    with open(source, "rb") as f:
        b = bytearray(f.read())
    phoff, shoff = struct.unpack_from("<QQ", b, 32)
    phsize, phn, shsize, shn, names = struct.unpack_from("<HHHHH", b, 54)
    for at in range(phoff, phoff + phn * phsize, phsize):
        if struct.unpack_from("<I", b, at)[0] == PT_GNU_EH_FRAME:
            struct.pack_into("<I", b, at, PT_NULL)
    names_off = struct.unpack_from("<Q", b, shoff + names * shsize + 24)[0]
    for at in range(shoff, shoff + shn * shsize, shsize):
        name = names_off + struct.unpack_from("<I", b, at)[0]
        if b[name:b.index(0, name)].decode() in HIDDEN:
            b[name + 1:name + 3] = b"zz"
    os.makedirs(os.path.dirname(copy) or ".", exist_ok=True)
    with open(copy, "wb") as f:
        f.write(b)
    os.utime(copy, (0, os.stat(source).st_mtime))
