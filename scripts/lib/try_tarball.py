"""Tries a tarball of framefs in bare systems; scripts/package --try calls it as root.

usage: try_tarball.py TARBALL FOLDER SYSTEM...

A system is the subfolder of FOLDER with this name.  Nothing is changed in it: the trial runs on an
overlay, in namespaces that end with it.  The network is that of this machine, where a server with a
certificate of its own offers a file.
"""

import pathlib
import ssl
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from object_server import ObjectServer  # noqa: E402  (the path comes first)

CONTENT = b"from a server\n"
DEADLINE_S = 300

# Arguments: the system, an empty folder, the tarball, the certificate, and what the inner script gets.
ENTER = r"""
system=$1 work=$2 tarball=$3 certificate=$4
shift 4
mount -t tmpfs -o mode=755 tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$system,upperdir=$work/upper,workdir=$work/work" overlay "$work/root"
mount --rbind /dev "$work/root/dev"
# Usual systems let all users open it.
mknod -m 666 "$work/fuse" c 10 229
mount --bind "$work/fuse" "$work/root/dev/fuse"
mount -t proc proc "$work/root/proc"
mkdir -p "$work/root/opt"
tar -xf "$tarball" -C "$work/root/opt"
cp "$certificate" "$work/root/tmp/certificate"
exec chroot "$work/root" env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  sh -euc "$@"
"""

# Arguments: the folder of the tarball, the URL, the words of the server's file.
TRY = r"""
bundle=$1 url=$2 words=$3
umask 022
step() { echo "  $*"; }

step "the sums of all files"
cd "$bundle"
sha256sum -c SHA256SUMS >/tmp/sums || { cat /tmp/sums; exit 1; }
step "framefs --version, by a path, a link and a name"
cd /
"$bundle/bin/framefs" --version
mkdir -p /usr/local/bin /mnt/plain /sbin
ln -s "$bundle/bin/framefs" /usr/local/bin/framefs
ln -s "$bundle/sbin/mount.framefs" /sbin/mount.framefs
cd /opt
../usr/local/bin/framefs --version >/dev/null
framefs --version >/dev/null
step "framefs doctor"
framefs doctor /opt || test $? = 1
step "pack, check, unpack"
framefs demo /demo >/dev/null
framefs unpack /demo -o /plain -q
framefs pack -q /plain -o /packed
framefs check -q /packed

# mounted NAME: reads and writes through the mount on /mnt/plain, ends it, and compares the frames.
mounted() {
  grep -q "^[^ ]* /mnt/plain fuse.framefs " /proc/mounts
  cmp /mnt/plain/logs/app.log /plain/logs/app.log
  cp /plain/logs/app.log "/tmp/$1.log"
  echo "a line of $1" >>"/tmp/$1.log"
  cp "/tmp/$1.log" "/mnt/plain/$1.log"
  cmp "/mnt/plain/$1.log" "/tmp/$1.log"
  framefs stats /mnt/plain >/dev/null
  framefs umount /mnt/plain
  framefs unpack "/demo/$1.log.b2frame" -o - | cmp - "/tmp/$1.log"
}
if test -e /usr/bin/fusermount3; then mv /usr/bin/fusermount3 /usr/bin/fusermount3.away; fi
step "a mount by root, without fusermount3"
framefs /demo /mnt/plain
framefs log /mnt/plain | grep " sandbox: " >/tmp/said
sed 's/^.* sandbox: /  in force: /' /tmp/said
if grep -q "not in force" /tmp/said; then exit 1; fi
mounted root
step "a mount without the sandbox"
framefs --no-sandbox /demo /mnt/plain
mounted unconfined
step "a mount by the name mount.framefs, as mount(8) calls it"
/sbin/mount.framefs /demo /mnt/plain -o rw
mounted helper
if mount --version 2>/dev/null | grep -q util-linux; then
  step "mount -t framefs"
  mount -t framefs /demo /mnt/plain
  mounted fstab
fi
step "the watchdog cleans up behind a daemon that was killed"
framefs /demo /mnt/plain
kill -9 "$(framefs list | awk '$3 == "/mnt/plain" {print $1}')"
tries=0
while grep -q " /mnt/plain fuse" /proc/mounts; do
  tries=$((tries + 1))
  test "$tries" -lt 100
  sleep 0.1
done
step "a mount of a server: its name, its certificate"
if framefs "$url" /mnt/plain 2>/tmp/said; then exit 1; fi
grep -q "this system has no valid certificates" /tmp/said
# The place that Fedora has.  That of Debian, which this libcurl was built for, does not exist here.
mkdir -p /etc/pki/tls/certs
cp /tmp/certificate /etc/pki/tls/certs/ca-bundle.crt
framefs "$url" /mnt/plain
test "$(cat /mnt/plain/words.txt)" = "$words"
framefs umount /mnt/plain
if test -e /usr/bin/fusermount3.away; then
  step "a mount by a user, with fusermount3"
  mv /usr/bin/fusermount3.away /usr/bin/fusermount3
  # fusermount3 reads it; every system that was started has it.
  ln -sf ../proc/self/mounts /etc/mtab
  echo 'somebody:x:1000:1000::/tmp:/bin/sh' >>/etc/passwd
  chown -R 1000:1000 /demo /mnt/plain /plain
  rm -f /tmp/*.log
  chmod 1777 /tmp
  cat >/tmp/user.sh
  setpriv --reuid 1000 --regid 1000 --clear-groups sh -eu /tmp/user.sh
fi
"""

USER = TRY[TRY.index("# mounted NAME"):TRY.index("if test -e")] + "framefs /demo /mnt/plain\nmounted user\n"


def make_certificate(folder):
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


def try_in(system, tarball, certificate, url, folder):
    bundle = f"/opt/{tarball.name.removesuffix('.tar.xz')}"
    work = folder / system.name
    work.mkdir()
    command = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child",
               "sh", "-euc", ENTER, "sh", system, work, tarball, certificate,
               TRY, "sh", bundle, url, CONTENT.decode().strip()]
    try:
        return subprocess.run(command, input=USER.encode(), timeout=DEADLINE_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"  no end after {DEADLINE_S} s")
        return False


def main():
    tarball, systems, *names = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory(prefix="framefs-try-") as name:
        folder = pathlib.Path(name)
        certificate, tls = make_certificate(folder)
        with ObjectServer({"words.txt": CONTENT}, tls=tls) as server:
            url = f"https://localhost:{server.port}/"
            for each in names:
                print(f"{each}:", flush=True)
                system = pathlib.Path(systems).resolve() / each
                if not try_in(system, pathlib.Path(tarball).resolve(), certificate, url, folder):
                    failed.append(each)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed" + "".join(f" {each}" for each in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
