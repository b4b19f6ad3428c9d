"""Other mounts of the server: those of rclone, without and with a full cache, and of s3fs.

A local mount of framefs over such a mount does the same work as framefs with another network part.
"""

import contextlib
import os
import pathlib
import shutil
import tempfile
from typing import Callable, NamedTuple

import mounts

FRAMEFS = "framefs"
RCLONE, RCLONE_FULL, S3FS = "rclone", "rclone, full cache", "s3fs"


class Contestant(NamedTuple):
    """A mount of a folder of the server, by framefs or another program."""
    name: str
    mounted: Callable  # makes a context, of the process id of the mount that reads the server
    mountpoint: pathlib.Path
    # rclone asks for the rest of an object, and reads on as it needs it: the request ends with the
    # mount.
    ends_its_requests: bool = True

    @contextlib.contextmanager
    def counted(self, proxy):
        """Mounts, and yields a list, which has all requests of the body when the context ends."""
        ledger = []
        with self.mounted():
            proxy.requests()
            yield ledger
            if self.ends_its_requests:
                ledger += proxy.requests()
        if not self.ends_its_requests:
            ledger += proxy.requests()


def over(who):
    """The name of a mount of framefs over that of a peer."""
    return f"framefs over {who}"


def installed():
    """The peers that this machine has."""
    return [who for who, program in ((RCLONE, "rclone"), (RCLONE_FULL, "rclone"), (S3FS, "s3fs"))
            if shutil.which(program)]


def http(url):
    """For rclone: a folder of a web server."""
    return [":http:", "--http-url", f"{url}/"]


def s3(url, bucket):
    """For rclone: a public bucket."""
    return [f":s3:{bucket}", "--s3-provider", "Other", "--s3-endpoint", url, "--s3-list-version", "2"]


@contextlib.contextmanager
def mounted(who, mountpoint, rclone_source, s3fs_source):
    """Mounts the peer, with nothing in its cache, and yields its process id.  `rclone_source` is of
    http() or s3(), and `s3fs_source` the URL of a server and a bucket."""
    with contextlib.ExitStack() as stack:
        if who == S3FS:
            url, bucket = s3fs_source
            command = ["s3fs", bucket, mountpoint, "-f", "-o", "public_bucket=1", "-o", f"url={url}", "-o",
                       "use_path_request_style", "-o", "listobjectsv2"]
        else:
            command = ["rclone", "mount", *rclone_source, mountpoint, "--read-only", "--config", "/dev/null"]
        if who == RCLONE_FULL:
            # Beside the mountpoint, and not in a filesystem in memory.
            cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="rclone-", dir=mountpoint.parent))
            command += ["--vfs-cache-mode", "full", "--cache-dir", cache]
        # The settings of this machine's user for AWS are not those of this server.
        settings = [word for name in os.environ if name.startswith("AWS_") for word in ("-u", name)]
        yield stack.enter_context(mounts.Daemon(who, mountpoint, ["env", *settings, *command]).mounted())
