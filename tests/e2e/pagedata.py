"""pagedata.py - the data in a page of -f html, for tests: columns of numbers one after the other (output/page_data.h)."""
import base64
import re
import zlib

import varint


class PageData:
    def __init__(self, html):
        found = re.search(rb'<script type="application/octet-stream" id="profile">([^<]*)</script>', html)
        self.bytes, self.at = zlib.decompress(base64.b64decode(found[1])), 0

    def column(self, n):
        out = []
        for _ in range(n):
            v, self.at = varint.get(self.bytes, self.at)
            out.append(v)
        return out

    def strings(self):
        out = []
        for n in self.column(*self.column(1)):
            out.append(n)
        for i, n in enumerate(out):
            out[i] = self.bytes[self.at:self.at + n].decode()
            self.at += n
        return out
