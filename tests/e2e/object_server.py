"""A server of objects for the tests of remote sources: S3, plain HTTP and WebDAV on 127.0.0.1.

It keeps a ledger of all requests, and breaks the rules as a test demands.
"""

import email.utils
import hashlib
import hmac
import html
import http.server
import json
import socket
import struct
import threading
import time
import urllib.parse
import xml.sax.saxutils

ACCESS_KEY = "TESTKEY"
SECRET_KEY = "test/secret"
BUCKET = "bucket"


class Object:
    """One version of an object."""

    def __init__(self, content, mtime=None):
        self.content = bytes(content)
        self.mtime = time.time() if mtime is None else mtime
        self.etag = '"%s"' % hashlib.md5(self.content).hexdigest()


class Request:
    """A line of the ledger."""

    def __init__(self, method, target, headers):
        self.method = method
        self.target = target
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.status = 0
        self.sent = 0
        self.begin = time.monotonic()
        self.end = None  # while the request is under way

    @property
    def range(self):
        return self.headers.get("range", "")

    def __repr__(self):
        return f"{self.method} {self.target} {self.range} -> {self.status} ({self.sent} bytes)"


class Fault:
    """The ways in which an answer is wrong; made by the functions below."""

    def __init__(self, **changes):
        self.changes = changes


def status(code, code_name="", headers=None):
    return Fault(status=code, code_name=code_name, headers=headers or {})


def answer(body, content_type):
    """Another answer, whatever the request."""
    return Fault(answer=(body, {"Content-Type": content_type}))


def reset(after_bytes):
    """The connection breaks in the middle of the body."""
    return Fault(reset_after=after_bytes)


def stall(event):
    """The answer stalls until the event is set."""
    return Fault(stall=event)


def short_body():
    """A body that is shorter than the range, with a Content-Length that agrees."""
    return Fault(cut=1)


def whole_for_range():
    """The request for a range is answered with 200 and the whole object."""
    return Fault(ignore_range=True)


def wrong_range():
    """The answer has another range than the request."""
    return Fault(shift=1)


def wrong_etag():
    return Fault(headers={"ETag": '"another"'})


def encoded():
    """The bytes of an object that is stored with a coding: they are the right ones."""
    return Fault(headers={"Content-Encoding": "gzip"})


def encoded_whole():
    """The whole object for a range, in a coding that the client did not ask for."""
    return Fault(ignore_range=True, headers={"Content-Encoding": "gzip"})


class ObjectServer:
    """Serves `objects`, by key; keys are paths for HTTP and DAV.

    `fault(request)` may return a Fault for a request; `latency` is how long each takes at least.
    """

    def __init__(self, objects=None, fault=None, latency=0.0, check_signatures=True,
                 ignore_if_match=False, listing="json", clock_offset=0, page_keys=1000, tls=None,
                 requester_pays=False):
        self.objects = {}
        self.requester_pays = requester_pays
        for key, content in (objects or {}).items():
            self.put(key, content)
        self.fault = fault or (lambda request: None)
        self.latency = latency
        self.check_signatures = check_signatures
        self.ignore_if_match = ignore_if_match
        self.listing = listing
        self.clock_offset = clock_offset
        self.page_keys = page_keys
        self.tls = tls
        self.access_key = ACCESS_KEY
        self.lock = threading.Lock()
        self.ledger = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._server = None
        self._thread = None
        self.start(0)

    def start(self, port):
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self.port = self._server.server_address[1]
        if self.tls:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever,
                                        kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self):
        """The server is gone; start(port) brings it back."""
        self._server.shutdown()
        self._server.close_all()
        self._server.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def put(self, key, content, mtime=None):
        self.objects[key] = content if isinstance(content, Object) else Object(content, mtime)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def requests(self, method=None):
        with self.lock:
            return [r for r in self.ledger if method is None or r.method == method]

    def ended_requests(self):
        """The requests, once all of them have ended; a client has an answer a little earlier."""
        deadline = time.monotonic() + 120
        while any(request.end is None for request in self.requests()):
            if time.monotonic() > deadline:
                raise TimeoutError("a request is under way")
            time.sleep(0.001)
        return self.requests()

    def clear_ledger(self):
        with self.lock:
            self.ledger.clear()
            self.most_in_flight = 0

    @property
    def bytes_sent(self):
        return sum(request.sent for request in self.requests())


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address, handler):
        self.connections = set()
        super().__init__(address, handler)

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def close_all(self):
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def handle_error(self, request, client_address):
        pass  # a client that disconnects is no error here


def _quote(text):
    return urllib.parse.quote(text, safe="-_.~")


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        now = time.time() if timestamp is None else timestamp
        return email.utils.formatdate(now + self.owner.clock_offset, usegmt=True)

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self):
        self._serve()

    def do_HEAD(self):
        self._serve()

    def do_PROPFIND(self):
        self._serve()

    def _serve(self):
        owner = self.owner
        self.record = Request(self.command, self.path, self.headers)
        with owner.lock:
            owner.ledger.append(self.record)
            owner.in_flight += 1
            owner.most_in_flight = max(owner.most_in_flight, owner.in_flight)
        try:
            length = int(self.headers.get("Content-Length", 0))
            self.rfile.read(length)
            if owner.latency:
                time.sleep(owner.latency)
            self._answer()
        finally:
            self.record.end = time.monotonic()
            with owner.lock:
                owner.in_flight -= 1

    def _answer(self):
        fault = self.owner.fault(self.record)
        self.changes = fault.changes if fault else {}
        if "stall" in self.changes:
            self.changes["stall"].wait(120)
        if "answer" in self.changes:
            return self._send(200, *self.changes["answer"])
        if "status" in self.changes:
            return self._error(self.changes["status"], self.changes["code_name"],
                               self.changes["headers"])
        path, _, query = self.path.partition("?")
        if path.startswith("http://"):  # from a client of a proxy
            path = "/" + path[len("http://"):].partition("/")[2]
        path = urllib.parse.unquote(path)
        if path == "/" + BUCKET or path.startswith("/" + BUCKET + "/"):
            return self._s3(path[len(BUCKET) + 2:], urllib.parse.parse_qs(query, True))
        if self.command == "PROPFIND":
            return self._dav(path)
        return self._http(path)

    # S3

    def _signature_problem(self):
        owner = self.owner
        authorization = self.headers.get("Authorization", "")
        if not owner.check_signatures:
            return None
        if not authorization.startswith("AWS4-HMAC-SHA256 "):
            return "AccessDenied"
        fields = dict(part.strip().split("=", 1) for part in authorization[17:].split(","))
        key, day, region, service, _ = fields["Credential"].split("/")
        if key != owner.access_key:
            return "InvalidAccessKeyId"
        signed = fields["SignedHeaders"].split(";")
        if owner.requester_pays and (self.headers["x-amz-request-payer"] != "requester"
                                     or "x-amz-request-payer" not in signed):
            return "AccessDenied"
        stamp = self.headers["x-amz-date"]
        sent = time.mktime(time.strptime(stamp, "%Y%m%dT%H%M%SZ")) - time.timezone
        if abs(sent - time.time() - owner.clock_offset) > 900:
            return "RequestTimeTooSkewed"
        path, _, query = self.path.partition("?")
        path = "/".join(_quote(urllib.parse.unquote(part)) for part in path.split("/"))
        pairs = sorted((_quote(k), _quote(v))
                       for k, v in urllib.parse.parse_qsl(query, True))
        names = fields["SignedHeaders"].split(";")
        canonical = "\n".join([
            self.command, path, "&".join(f"{k}={v}" for k, v in pairs),
            "".join(f"{n}:{self.headers[n].strip()}\n" for n in names),
            fields["SignedHeaders"], self.headers["x-amz-content-sha256"]])
        scope = f"{day}/{region}/{service}/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                             hashlib.sha256(canonical.encode()).hexdigest()])
        signing = ("AWS4" + SECRET_KEY).encode()
        for part in (day, region, service, "aws4_request"):
            signing = _hmac(signing, part)
        right = _hmac(signing, to_sign).hex()
        needed = {"host", "x-amz-date", "x-amz-content-sha256"}
        if right != fields["Signature"] or not needed <= set(names):
            return "SignatureDoesNotMatch"
        return None

    def _s3(self, key, query):
        problem = self._signature_problem()
        if problem:
            return self._error(403, problem)
        if "list-type" in query:
            return self._s3_list({name: values[0] for name, values in query.items()})
        if key not in self.owner.objects:
            return self._error(404, "NoSuchKey")
        return self._object(self.owner.objects[key], is_s3=True)

    def _s3_list(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        names = {}
        for key in sorted(self.owner.objects, key=lambda text: text.encode()):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix):]
            if delimiter and delimiter in rest:
                names[prefix + rest.split(delimiter)[0] + delimiter] = None
            else:
                names[key] = self.owner.objects[key]
        after = query.get("continuation-token", "")
        keys = [key for key in names if key > after]
        count = min(self.owner.page_keys, int(query.get("max-keys", 1000)))
        page, more = keys[:count], len(keys) > count
        quoted = (lambda text: urllib.parse.quote(text, safe="/-_.~")) \
            if query.get("encoding-type") == "url" else xml.sax.saxutils.escape
        lines = ['<?xml version="1.0" encoding="UTF-8"?>',
                 '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
                 f"<IsTruncated>{str(more).lower()}</IsTruncated>"]
        if query.get("encoding-type") == "url":
            lines.append("<EncodingType>url</EncodingType>")
        if more:
            token = xml.sax.saxutils.escape(page[-1])
            lines.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
        for key in page:
            found = names[key]
            if found is None:
                lines.append(f"<CommonPrefixes><Prefix>{quoted(key)}</Prefix></CommonPrefixes>")
                continue
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(found.mtime))
            lines.append(f"<Contents><Key>{quoted(key)}</Key><LastModified>{stamp}</LastModified>"
                         f"<ETag>{xml.sax.saxutils.escape(found.etag)}</ETag>"
                         f"<Size>{len(found.content)}</Size></Contents>")
        lines.append("</ListBucketResult>")
        return self._send(200, "".join(lines).encode(), {"Content-Type": "application/xml"})

    def _error(self, code, code_name="", headers=None):
        body = f"<Error><Code>{code_name}</Code></Error>".encode() if code_name else b""
        return self._send(code, body, headers or {})

    # HTTP and DAV

    def _children(self, folder):
        names = {}
        for key, found in self.owner.objects.items():
            if not key.startswith(folder):
                continue
            name, slash, _ = key[len(folder):].partition("/")
            if slash:
                names[name] = None
            else:
                names.setdefault(name, found)
        names.pop("", None)
        return names

    def _http(self, path):
        key = path.lstrip("/")
        if key in self.owner.objects:
            return self._object(self.owner.objects[key])
        folder = key if key.endswith("/") or not key else key + "/"
        children = self._children(folder)
        if not children and folder:
            return self._error(404)
        if key and not key.endswith("/"):
            return self._send(301, b"", {"Location": urllib.parse.quote(path) + "/"})
        if self.owner.listing == "json":
            return self._send(200, json.dumps([
                {"name": name, "type": "file" if found else "directory",
                 "mtime": email.utils.formatdate(found.mtime if found else 0, usegmt=True),
                 **({"size": len(found.content)} if found else {})}
                for name, found in sorted(children.items())]).encode(),
                {"Content-Type": "application/json"})
        if self.owner.listing == "html":
            links = "".join(
                f'<a href="{html.escape(urllib.parse.quote(name))}{"" if found else "/"}">'
                f"{html.escape(name)}</a>\n" for name, found in sorted(children.items()))
            return self._send(200, f"<html><a href='../'>Up</a>{links}</html>".encode(),
                              {"Content-Type": "text/html"})
        return self._error(403)

    def _dav(self, path):
        key = path.strip("/")
        own = self.owner.objects.get(key)
        children = self._children(key + "/" if key else "")
        if own is None and not children and key:
            return self._error(404)
        resources = [(path, own)]
        if self.headers.get("Depth") == "1" and own is None:
            base = "/" + key + "/" if key else "/"
            resources += [(base + name, found) for name, found in children.items()]
        lines = ['<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">']
        for href, found in resources:
            properties = "<D:resourcetype><D:collection/></D:resourcetype>"
            if found:
                date = email.utils.formatdate(found.mtime, usegmt=True)
                properties = ("<D:resourcetype/>"
                              f"<D:getcontentlength>{len(found.content)}</D:getcontentlength>"
                              f"<D:getlastmodified>{date}</D:getlastmodified>"
                              f"<D:getetag>{found.etag}</D:getetag>")
            lines.append(f"<D:response><D:href>{urllib.parse.quote(href)}</D:href><D:propstat>"
                         f"<D:prop>{properties}</D:prop><D:status>HTTP/1.1 200 OK</D:status>"
                         "</D:propstat></D:response>")
        lines.append("</D:multistatus>")
        return self._send(207, "".join(lines).encode(), {"Content-Type": "application/xml"})

    # Bytes

    def _object(self, found, is_s3=False):
        headers = {"ETag": found.etag, "Accept-Ranges": "bytes",
                   "Last-Modified": email.utils.formatdate(found.mtime, usegmt=True)}
        if_match = self.headers.get("If-Match")
        if if_match and if_match != found.etag and not self.owner.ignore_if_match:
            return self._error(412, "PreconditionFailed")
        content, code = found.content, 200
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and not self.changes.get("ignore_range"):
            first, last = (int(number) for number in wanted[6:].split("-"))
            if first >= len(content) and is_s3:
                return self._error(416, "InvalidRange")  # without Content-Range, as AWS and Ceph
            if first >= len(content):
                return self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            first += self.changes.get("shift", 0)
            last = min(last, len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content, code = content[first:last + 1], 206
        if "cut" in self.changes:
            content = content[:-self.changes["cut"]]
        headers.update(self.changes.get("headers", {}))
        return self._send(code, content, headers)

    def _send(self, code, body, headers):
        self.record.status = code
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if "reset_after" in self.changes:
            body = body[:self.changes["reset_after"]]
            self.wfile.write(body)
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.close_connection = True
            self.record.sent = len(body)
            self.connection.close()
            return
        self.wfile.write(body)
        self.record.sent = len(body)
