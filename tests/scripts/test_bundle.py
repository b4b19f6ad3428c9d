"""Tests of scripts/lib/bundle.py: which packages the files of a tarball are from."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
import bundle  # noqa: E402  (the path comes first)


@unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
class PackagesOfASysroot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="framefs-test-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "var/lib/dpkg/info").mkdir(parents=True)
        (self.root / "usr/lib").mkdir(parents=True)
        (self.root / "lib").symlink_to("usr/lib")
        self.packages = bundle.Packages(self.root)

    def add_package(self, name, *paths):
        database = self.root / "var/lib/dpkg"
        with (database / "status").open("a") as status:
            status.write(f"Package: {name}\nVersion: 1-2\nArchitecture: all\nDescription: x\n"
                         "Status: install ok installed\n\n")
        (database / f"info/{name}.list").write_text("".join(f"{path}\n" for path in paths))

    def add_file(self, path):
        file = self.root / path
        file.write_text(path)
        return file

    def test_the_owner_of_a_file(self):
        self.add_package("one", "/usr/lib/one.so")
        self.add_package("two", "/usr/lib/two.so")
        self.add_file("usr/lib/two.so")
        self.assertEqual(self.packages.of_files([self.add_file("usr/lib/one.so")]), ["one"])
        self.assertEqual(self.packages.versions_of("one"), "one 1-2 one 1-2")

    def test_a_package_that_leaves_out_that_lib_is_usr_lib(self):
        self.add_package("one", "/lib/one.so")
        self.add_file("usr/lib/one.so")
        for path in ("usr/lib/one.so", "lib/one.so"):
            self.assertEqual(self.packages.of_files([self.root / path]), ["one"], path)

    def test_a_link_belongs_to_the_package_of_its_file(self):
        self.add_package("one", "/usr/lib/one.so.1.2")
        self.add_file("usr/lib/one.so.1.2")
        (self.root / "usr/lib/one.so.1").symlink_to("one.so.1.2")
        self.assertEqual(self.packages.of_files([self.root / "usr/lib/one.so.1"]), ["one"])

    def test_a_file_of_no_package_is_an_error(self):
        self.add_package("one", "/usr/lib/one.so")
        with self.assertRaises(SystemExit):
            self.packages.of_files([self.add_file("usr/lib/other.so")])


if __name__ == "__main__":
    unittest.main()
