"""Writes containers in Python-Blosc2's layout.  Source: codec/FORMAT.md, "Container format"."""

import struct
import zipfile

from frame_writer import plain_frame


def _text(text):
    raw = text.encode()
    return b"\xd9" + bytes([len(raw)]) + raw


def _number(number):
    return b"\xce" + struct.pack(">I", number)


def _map(pairs):
    return b"\xde" + struct.pack(">H", len(pairs)) + b"".join(_text(key) + value for key, value in pairs)


def embed_container(nodes, remote=(), kind="b2embed"):
    """A .b2e with frames by key; the `remote` keys name arrays on a server."""
    heap = b""
    places = []
    for key, frame in nodes.items():
        places.append((key, _map([("offset", _number(len(heap))), ("length", _number(len(frame)))])))
        heap += frame
    for key in remote:
        places.append((key, _map([("urlbase", _text("https://example.org/")), ("path", _text("a.b2nd"))])))
    metadata = _map([("embed_map", _map(places)), ("current_offset", _number(len(heap)))])
    return plain_frame(heap, 8192, meta={kind: b"\x81\xa7version\x01"}, vlmeta={"estore_metadata": metadata})


def embed_container_on(make_heap, places, kind="b2embed"):
    """A .b2e in a frame of any kind; `make_heap` makes the frame with the given metalayers."""
    entries = [(key, _map([("offset", _number(offset)), ("length", _number(length))]))
               for key, (offset, length) in places.items()]
    metadata = _map([("embed_map", _map(entries)), ("current_offset", _number(1 << 20))])
    return make_heap(extra_meta={kind: b"\x81\xa7version\x01"}, vlmeta={"estore_metadata": metadata})


def archive(path, members, packed=False):
    """A .b2z: a ZIP of uncompressed members, or of compressed ones, which is not a valid
    container."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as out:
        for name, content in members.items():
            out.writestr(name, content)
