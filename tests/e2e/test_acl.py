"""Access control lists: with --acl, users have the rights that they have in a plain folder."""

import itertools
import os
import shutil
import unittest

import container_writer
import frame_writer
from case import MountCase
from daemon import FRAMEFS

CONTENT = b"every line of a log " * 400


def user(number, *groups):
    return {"user": number, "group": number, "extra_groups": list(groups)}


@unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
class Acl(MountCase):
    """`twin` is a plain folder that is treated like the mount."""

    USERS = (user(0), user(7), user(8), user(9, 55), user(10))

    def setUp(self):
        os.chmod(self.folder, 0o755)
        self.twin = self.folder / "twin"
        self.twin.mkdir()
        for root in (self.source, self.twin):
            os.chmod(root, 0o777)
        if self.tool("setfacl", "-m", "u:7:r", self.twin, check=False).returncode != 0:
            self.skipTest("no access control lists here")
        self.tool("setfacl", "-b", self.twin)

    def both(self, script, caller=None):
        """Runs a script in the mount and in the twin; both must print the same."""
        caller = caller or self.USERS[0]
        plain = self.tool("sh", "-c", script, cwd=self.twin, check=False, **caller)
        mounted = self.tool("sh", "-c", script, cwd=self.mountpoint, check=False, **caller)
        self.assertEqual(mounted.stdout.decode(), plain.stdout.decode(), (script, caller, mounted.stderr))
        self.assertEqual(mounted.stderr.decode(), plain.stderr.decode(), (script, caller))
        return plain.stdout.decode()

    def add(self, name):
        self.make_frame(CONTENT, f"{self.source / name}.b2frame")
        (self.twin / name).write_bytes(CONTENT)
        (self.source / f"{name}-plain").write_bytes(CONTENT)
        (self.twin / f"{name}-plain").write_bytes(CONTENT)

    def mount(self, *options, **more):
        return super().mount("--acl", "--allow-other", "--attr-timeout", "0", *options, **more)

    def everybody_tries(self):
        for caller in self.USERS:
            self.both("""
                for f in *; do
                  echo $f; cat $f | md5sum; test -r $f && echo r; test -w $f && echo w; test -x $f && echo x
                  (echo more >> $f) && echo appended
                  ls $f/ && (echo x > $f/new-$$) && rm $f/new-*
                done 2> /dev/null""", caller)

    def test_rights_of_named_users_and_groups(self):
        for name in ("mask", "user", "group", "denied", "none"):
            self.add(name)
        lists = {"mask": "u::rw,u:7:r,g::-,m::r,o::-", "user": "u::rw,u:7:rw,u:8:-,g::r,m::rw,o::r",
                 "group": "u::rw,g::-,g:55:rw,m::rw,o::-", "denied": "u::rw,g::r,g:9:-,m::r,o::rw"}
        with self.mount():
            for name, entries in lists.items():
                for suffix in ("", "-plain"):
                    self.both(f"setfacl --set {entries} {name}{suffix}; getfacl -n {name}{suffix}")
            self.assertIn("user:7:rw-", self.both("getfacl -n *"))
            self.everybody_tries()
            self.both("ls -ld * | sed 's/^\\(.\\{11\\}\\).* /\\1/'")
            self.both("chmod g=r user mask && getfacl -n user mask")
            self.everybody_tries()
            self.both("setfacl -b user mask-plain && getfacl -n user mask-plain")
            self.everybody_tries()
        with self.mount():  # what the first mount has set is stored in SOURCE
            self.both("getfacl -n *")
            self.everybody_tries()
            stored = self.tool("getfacl", "-n", "--omit-header", "group.b2frame", cwd=self.source).stdout
            self.assertIn(b"group:55:rw-", stored)

    def test_new_entries_inherit_the_default_list(self):
        make = """
            umask 027
            mkdir $d/dir; mkdir -m 770 $d/dir/sub; touch $d/file; echo text > $d/dir/text; mkfifo $d/fifo
            (umask 0; touch $d/open; mkdir $d/open-dir)
            ln $d/file $d/second; mv $d/dir/text $d/moved
            for f in $d/* $d/*/*; do stat -c '%n %A %u %g' $f; test -p $f || getfacl -n $f; done"""
        with self.mount():
            self.both("mkdir with without; chmod 777 with without; setfacl -d -m u:7:rwx,g:55:r,o::- with")
            for caller in (self.USERS[0], self.USERS[1], self.USERS[3]):
                for d in ("with", "without"):
                    self.both(f"d={d}/{caller['user']}; mkdir -m 777 $d; {make}", caller)

    def test_only_owners_set_lists(self):
        self.add("f")
        with self.mount():
            for owner, caller in itertools.product((7, 9), self.USERS):  # only 9 is in the group
                self.both(f"chown {owner}:55 f f-plain; chmod 2775 f f-plain")
                self.both("""
                    for f in f f-plain; do
                      setfacl -m u:10:r $f; echo $?; setfacl -b $f; echo $?; stat -c %A $f
                    done 2>&1""", caller)

    def test_copies_and_renames_keep_lists(self):
        self.add("f")
        with self.mount():
            self.both("setfacl -m u:7:rw f; cp -a f copy; cp -p f-plain copy-plain; mkdir d; mv copy d/moved;"
                      "tar --acls -cf a.tar f; tar --acls -C d -xf a.tar; getfacl -n copy-plain d/moved d/f")
            self.both("rm a.tar; mv -f d/moved f-plain; getfacl -n f-plain")

    def test_files_that_are_shown_otherwise_have_no_list(self):
        """The mode shows only the rights that the list in SOURCE grants to all."""
        self.make_frame(CONTENT, self.source / "s.b2frame", "--sparse", "--chunk", "1000")
        (self.source / "c.b2e").write_bytes(container_writer.embed_container(
            {"/text": frame_writer.plain_frame(CONTENT)}))
        narrow = "u::rw,u:7:r,g::-,m::r,o::-"
        for path in (self.source / "s.b2frame" / "chunks.b2frame", self.source / "c.b2e"):
            self.tool("setfacl", "--set", narrow, path)
        with self.mount() as mount:
            with open(mount.path("s"), "rb") as file:
                self.assertEqual(os.fstat(file.fileno()).st_mode & 0o777, 0o600)
            for name, mode in (("s", 0o600), ("c.b2e", 0o500)):
                self.assertEqual(os.stat(mount.path(name)).st_mode & 0o777, mode)
                self.assertEqual(self.tool("setfacl", "-m", "u:8:r", mount.path(name), check=False).returncode, 1)
                self.assertNotIn("system.posix_acl_access", os.listxattr(mount.path(name)))
            for caller in self.USERS[1:]:
                for name in ("s", "c.b2e/text"):
                    read = self.tool("cat", mount.path(name), check=False, **caller)
                    self.assertEqual((read.returncode, read.stdout), (1, b""), (name, caller))

    def test_a_source_without_lists(self):
        disk = self.folder / "disk"
        disk.mkdir()
        self.tool("mount", "-t", "ramfs", "ramfs", disk)
        self.addCleanup(self.tool, "umount", disk)
        self.make_frame(CONTENT, disk / "x.b2frame")
        os.chmod(disk / "x.b2frame", 0o640)
        shutil.chown(disk / "x.b2frame", 0, 55)
        with self.mount(source=disk) as mount:
            reads = [self.tool("cat", mount.path("x"), check=False, **caller).stdout == CONTENT
                     for caller in self.USERS]
            self.assertEqual(reads, [True, False, False, True, False])
            self.assertNotEqual(self.tool("setfacl", "-m", "u:7:r", mount.path("x"), check=False).returncode, 0)

    def test_what_it_does_not_go_together_with(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame")
        for source, options in ((self.source, ("--uid", "7")), (self.source, ("--umask", "077")), (frame, ()),
                                ("https://localhost/x", ())):
            with self.subTest(source=source, options=options):
                run = self.tool(FRAMEFS, source, self.mountpoint, "--acl", *options, check=False)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(b"--acl", run.stderr)


if __name__ == "__main__":
    unittest.main()
