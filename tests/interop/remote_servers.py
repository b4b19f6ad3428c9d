"""Compares mounts of real servers with a local mount of the same files.

    remote_servers.py CHROOT [nginx|apache|radosgw]...

It runs in namespaces of its own, see scripts/remote.
"""

import datetime
import errno
import fcntl
import hashlib
import hmac
import http.client
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMEFS = os.environ["FRAMEFS"]
DEADLINE_S = 120
ACCESS_KEY, SECRET_KEY = "FFKEY", "FFSECRET"
PIECE = 1 << 20

CEPH_CONF = """[global]
fsid = bc26ba77-63ec-4291-80c5-525f2de143a9
mon host = v2:127.0.0.1:3300
mon initial members = a
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = /etc/ceph/all.keyring
osd objectstore = memstore
memstore device bytes = 2147483648
osd max object name len = 256
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 0
run dir = /srv/ceph/run
admin socket = /srv/ceph/run/$cluster-$name.asok
log file = /srv/ceph/log/$name.log
mon data = /srv/ceph/mon
mgr data = /srv/ceph/mgr
osd data = /srv/ceph/osd
"""

CEPH_START = r"""set -e
ring=/etc/ceph/all.keyring
rm -rf /srv/ceph $ring
mkdir -p /srv/ceph/mon /srv/ceph/osd /srv/ceph/mgr /srv/ceph/run /srv/ceph/log
ceph-authtool -C $ring --gen-key -n mon. --cap mon 'allow *'
for name in client.admin mgr.x osd.0 client.rgw.a; do
  ceph-authtool $ring --gen-key -n $name --cap mon 'allow *' --cap osd 'allow *' \
    --cap mgr 'allow *' --cap mds 'allow *'
done
monmaptool --create --clobber --fsid bc26ba77-63ec-4291-80c5-525f2de143a9 \
  --addv a '[v2:127.0.0.1:3300]' /srv/ceph/monmap
ceph-mon --mkfs -i a --monmap /srv/ceph/monmap --keyring $ring
ceph-mon -i a
ceph-mgr -i x
uuid=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$uuid"
ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
ceph-osd -i 0
radosgw -n client.rgw.a --rgw-frontends 'beast endpoint=127.0.0.1:7480'
"""

NGINX_CONF = """
pid /run/nginx-framefs.pid; error_log /var/log/nginx-framefs.log;
events {}
http {
  access_log off;
  server { listen 127.0.0.1:8081; root /srv/data; autoindex on; autoindex_format json; }
}
"""

APACHE_CONF = """
ServerRoot /etc/apache2
ServerName localhost
PidFile /run/apache-framefs.pid
ErrorLog /var/log/apache-framefs.log
Listen 127.0.0.1:8082
IncludeOptional mods-available/mpm_event.load
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule dav_module /usr/lib/apache2/modules/mod_dav.so
LoadModule dav_fs_module /usr/lib/apache2/modules/mod_dav_fs.so
DavLockDB /run/framefs-dav-lock
DocumentRoot /srv/data
DirectoryIndex disabled
<Directory /srv/data>
  Dav On
  Options +Indexes
  IndexOptions FancyIndexing NameWidth=*
  Require all granted
</Directory>
"""


def say(text):
    print(f"remote: {text}", flush=True)


def wait_for(answers, what):
    end = time.monotonic() + DEADLINE_S
    while not answers():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


def start_loopback():
    """A new network namespace has lo, but down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        set_flags, up = 0x8914, 0x1  # SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))


class Chroot:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        for kind, name in (("proc", "proc"), ("tmpfs", "run"), ("tmpfs", "srv")):
            subprocess.run(["mount", "-t", kind, kind, self.path / name], check=True)
        subprocess.run(["mount", "--bind", "/dev", self.path / "dev"], check=True)

    def run(self, *command):
        result = subprocess.run(["chroot", self.path, *command], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=DEADLINE_S, check=False)
        if result.returncode != 0:
            sys.exit(f"{command}: {result.stdout.decode()}{result.stderr.decode()}")

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return "/" + name


def listens(port):
    def try_it():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            return False
    return try_it


def sign(method, path, body):
    """The headers of a request to S3 by signature version 4."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": "127.0.0.1:7480", "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, path, "", *(f"{name}:{headers[name]}" for name in sorted(headers)),
                           "", names, digest])
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET_KEY).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, "
                                f"SignedHeaders={names}, Signature={signature}")
    return headers


def put(connection, path, body):
    path = urllib.parse.quote(path, safe="/-_.~")
    connection.request("PUT", path, body, sign("PUT", path, body))
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        sys.exit(f"PUT {path}: {answer.status} {text}")


def start_nginx(chroot, _source):
    chroot.run("nginx", "-c", chroot.write("etc/nginx-framefs.conf", NGINX_CONF))
    wait_for(listens(8081), "nginx")
    return {"nginx, JSON": "http://127.0.0.1:8081/"}


def start_apache(chroot, _source):
    chroot.run("apache2", "-f", chroot.write("etc/apache-framefs.conf", APACHE_CONF))
    wait_for(listens(8082), "Apache")
    return {"Apache, WebDAV": "dav://127.0.0.1:8082/", "Apache, HTML": "http://127.0.0.1:8082/"}


def start_radosgw(chroot, source):
    chroot.write("etc/ceph/ceph.conf", CEPH_CONF)
    chroot.run("sh", "-c", CEPH_START)
    wait_for(listens(7480), "radosgw")
    chroot.run("radosgw-admin", "-n", "client.rgw.a", "user", "create", "--uid=framefs",
               "--display-name=framefs", f"--access-key={ACCESS_KEY}", f"--secret-key={SECRET_KEY}")
    connection = http.client.HTTPConnection("127.0.0.1", 7480, timeout=DEADLINE_S)
    put(connection, "/fixtures", b"")
    for path in sorted(source.rglob("*")):
        if path.is_file():
            put(connection, f"/fixtures/some/prefix/{path.relative_to(source)}", path.read_bytes())
    return {"radosgw, S3": "s3://fixtures/some/prefix"}


class Mount:
    """A mount in the foreground."""

    def __init__(self, source, mountpoint, *options):
        self.path = mountpoint
        mountpoint.mkdir(exist_ok=True)
        device = mountpoint.stat().st_dev
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
                       "AWS_EC2_METADATA_DISABLED": "true"}
        # Broken fixtures fill the log.
        self.daemon = subprocess.Popen([FRAMEFS, "-f", "--ro", "--log-file", "/dev/null", *options, source,
                                        mountpoint], env=environment)

        def is_there():
            if self.daemon.poll() is not None:
                sys.exit(f"the mount of {source} has ended")
            return mountpoint.stat().st_dev != device
        wait_for(is_there, f"a mount of {source}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        if self.daemon.wait(DEADLINE_S) != 0:
            sys.exit(f"the daemon ended with {self.daemon.returncode}")


def content_of(path):
    """The digest of a file, with the errno of the read that failed."""
    digest = hashlib.sha256()
    size = 0
    try:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                digest.update(piece)
                size += len(piece)
                if size > 64 * PIECE:
                    return "large", digest.hexdigest()
    except OSError as error:
        return errno.errorcode[error.errno]
    return size, digest.hexdigest()


def tree(root):
    found = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = pathlib.Path(folder, name)
            found[str(path.relative_to(root))] = (path.stat().st_size, content_of(path))
    return found


STARTS = {"nginx": start_nginx, "apache": start_apache, "radosgw": start_radosgw}


def main():
    start_loopback()
    chroot = Chroot(sys.argv[1])
    source = chroot.path / "srv/data"
    shutil.copytree(ROOT / "tests/fixtures", source)
    work = chroot.path / "srv/mounts"
    work.mkdir()
    with Mount(source, work / "local") as local:
        wanted = tree(local.path)
    say(f"{len(wanted)} files")
    failures = 0
    for name in sys.argv[2:] or STARTS:
        for kind, url in STARTS[name](chroot, source).items():
            begin = time.monotonic()
            options = ["--endpoint", "http://127.0.0.1:7480"] if url.startswith("s3:") else []
            with Mount(url, work / "remote", *options) as remote:
                found = tree(remote.path)
                counters = os.getxattr(remote.path, "user.framefs.remote").decode()
            differences = [path for path in sorted({*wanted, *found})
                           if wanted.get(path) != found.get(path)]
            for path in differences[:20]:
                say(f"{kind}: {path}: {wanted.get(path)} becomes {found.get(path)}")
            failures += len(differences)
            say(f"{kind}: {len(found)} files, {len(differences)} differ, "
                f"{time.monotonic() - begin:.1f} s, {counters}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
