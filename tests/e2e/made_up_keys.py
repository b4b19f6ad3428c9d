"""Keys that are made up as they are asked for: a server of any number of them takes no memory."""

import bisect
import math
import time
import urllib.parse

import object_server


class MadeUpKeys:
    """A fault of ObjectServer: answers all lists of its bucket.

    `levels` has the number of names in each folder, from the top: (1000, 1000) are 1000 folders of
    1000 keys.  serve() makes a server that has the objects, too, which are all the same.
    """

    def __init__(self, levels, content=b"hello", suffix=""):
        self.levels = levels
        self.count = math.prod(levels)
        self.object = object_server.Object(content, mtime=1_700_000_000)
        self.suffix = suffix
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.object.mtime))
        etag = self.object.etag.replace('"', "&quot;")
        self._rest = (f"</Key><LastModified>{stamp}</LastModified><ETag>{etag}</ETag><Size>{len(content)}</Size>"
                      "<StorageClass>STANDARD</StorageClass></Contents>")

    def serve(self, **options):
        server = object_server.ObjectServer(fault=self, **options)
        server.objects = self
        return server

    def key(self, number):
        names = []
        for size in reversed(self.levels):
            number, name = divmod(number, size)
            names.append(f"k{name:06}")
        return "/".join(reversed(names)) + self.suffix

    # The mapping from keys to objects.

    def __contains__(self, key):
        number = self._first(key)
        return number < self.count and self.key(number) == key

    def __getitem__(self, key):
        if key not in self:
            raise KeyError(key)
        return self.object

    # Lists

    def _first(self, text):
        """The number of the first key that is not below `text`."""
        return bisect.bisect_left(range(self.count), text, key=self.key)

    def after(self, name):
        """The same behind a name of a list, which may be a folder.  Lists continue there."""
        return self._first(name[:-1] + chr(ord("/") + 1) if name.endswith("/") else name + "\0")

    def _names(self, number, prefix, delimiter):
        """The names in a list from a key on."""
        while number < self.count:
            key = self.key(number)
            if not key.startswith(prefix):
                return
            end = key.find(delimiter, len(prefix)) + 1 if delimiter else 0
            yield key[:end] if end else key
            number = self.after(key[:end]) if end else number + 1

    def __call__(self, request):
        path, _, query = request.target.partition("?")
        if request.method != "GET" or path.rstrip("/") != "/" + object_server.BUCKET:
            return None
        return self.page(dict(urllib.parse.parse_qsl(query)))

    def page(self, query):
        """Answers ListObjects or ListObjectsV2."""
        prefix = query.get("prefix", "")
        after = query.get("continuation-token") or query.get("marker") or query.get("start-after", "")
        begin = self.after(after) if after >= prefix and after else self._first(prefix)
        wanted = min(int(query.get("max-keys", 1000)), 1000)
        parts, last, is_more = [], "", False
        for name in self._names(begin, prefix, query.get("delimiter", "")):
            if len(parts) == wanted:
                is_more = True
                break
            last = name
            parts.append(f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" if name.endswith("/")
                         else f"<Contents><Key>{name}{self._rest}")
        more = (f"<NextContinuationToken>{last}</NextContinuationToken><NextMarker>{last}</NextMarker>"
                if is_more else "")
        text = (f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>{object_server.BUCKET}</Name>'
                f"<Prefix>{prefix}</Prefix><IsTruncated>{str(is_more).lower()}</IsTruncated>{more}{''.join(parts)}"
                "</ListBucketResult>")
        return object_server.answer(text.encode(), "application/xml")
