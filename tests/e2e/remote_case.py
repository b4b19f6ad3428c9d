"""The base class of tests of remote sources: servers of objects, and mounts of their URLs."""

import errno
import os
import pathlib

import numpy

import daemon
import data
import frames
import object_server
from case import MountCase
from object_server import BUCKET, ObjectServer

# Credentials that the server accepts, and no others.
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": object_server.ACCESS_KEY,
               "AWS_SECRET_ACCESS_KEY": object_server.SECRET_KEY,
               "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
               "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}


class CachedMount(daemon.Mount):
    """The disk cache keeps the segment open to which it appends."""

    def _more_open_files(self):
        return [name for name in super()._more_open_files() if "/segment-" not in name]


class RemoteCase(MountCase):
    def setUp(self):
        self.text = data.text(20_000)
        self.servers = []

    def serve(self, objects=None, **options):
        server = ObjectServer(objects, **options)
        self.addCleanup(server.stop)
        return server

    def serve_source(self, **options):
        """A server that has the files of the source folder, for S3 and for HTTP."""
        objects = {}
        for path in self.source.rglob("*"):
            if path.is_file():
                objects[str(path.relative_to(self.source))] = path.read_bytes()
        return self.serve(objects, **options)

    def mount_url(self, url, *options, mountpoint=None, key=object_server.ACCESS_KEY):
        environment = {**ENVIRONMENT, "AWS_ACCESS_KEY_ID": key}
        return CachedMount(url, mountpoint or self.mountpoint, *options, environment=environment)

    def mount_s3(self, server, *options, prefix="", **named):
        return self.mount_url(f"s3://{BUCKET}/{prefix}", "--endpoint", server.url, *options, **named)

    def assert_errno(self, number, body):
        with self.assertRaises(OSError) as caught:
            body()
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[number])

    def make_source(self):
        """Frames of all kinds, plain files and folders."""
        self.array = numpy.arange(6_000, dtype="<f4").reshape(60, 100)
        (self.source / "sub" / "deep").mkdir(parents=True)
        self.make_frame(self.text, self.source / "text.b2frame")
        self.make_frame(self.text[:100], self.source / "sub" / "small.b2frame")
        self.make_frame(data.noise(3_000_000), self.source / "sub" / "noise.b2frame")
        self.make_frame(self.array.tobytes(), self.source / "array.b2nd", "--shape", "60,100",
                        "--chunkshape", "25,40", "--blockshape", "10,20", "--typesize", "4",
                        "--dtype", "<f4")
        chunks = [frames.stored(self.text[at:at + 10_000]) for at in range(0, 100_000, 10_000)]
        frames.write_sparse_frame(self.source / "sparse.b2frame", chunks, 100_000, 10_000)
        (self.source / "plain.txt").write_bytes(self.text[:5_000])
        (self.source / "sub" / "deep" / "empty").write_bytes(b"")
        (self.source / "broken.b2frame").write_bytes(b"no frame at all")
        (self.source / "empty.b2frame").write_bytes(b"")

    def tree(self, root):
        """Names, sizes and contents below a folder."""
        found = {}
        for path in sorted(pathlib.Path(root).rglob("*")):
            name = str(path.relative_to(root))
            found[name] = "folder" if path.is_dir() else (path.stat().st_size, path.read_bytes())
        return found
