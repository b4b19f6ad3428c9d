"""scripts/lib/references.py: circles of classes, and the order of members, in headers made here."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))

import references  # noqa: E402


class References(unittest.TestCase):
    def found_in(self, **headers):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "fs").mkdir()
            for name, text in headers.items():
                (root / "fs" / f"{name}.h").write_text(text)
            read = references.read_headers(root)
        resolve = references.resolver(read)
        circles = references.circles(references.references(read, resolve))
        return ([[name for _, name in part] for part in circles],
                [found[1:] for found in references.disorder(read, resolve)])

    def test_a_circle_behind_a_forward_declaration(self):
        store = "namespace n { class Reader; class Store { void f(int i) { i = 1; } Reader* reader_; }; }"
        reader = '#include "fs/store.h"\nnamespace n { class Reader { struct Parts { Store& store; }; const Parts parts_; }; }'
        self.assertEqual(self.found_in(store=store, reader=reader), ([["Reader", "Store"]], []))
        # A comment, a function and a friend are no members.
        harmless = "class Reader;\nclass Store { friend class Reader; Reader& make(Reader& from); int x_{0}; };  // Reader r;"
        self.assertEqual(self.found_in(store=harmless, reader=reader), ([], []))

    def test_members_in_an_order_that_refers_ahead(self):
        store = "class Store { int bytes_ = 0; };"
        reader = '#include "fs/store.h"\nclass Reader { Store& store_; };'
        owner = '#include "fs/reader.h"\nclass Owner {\n public:\n  void f();\n private:\n  %s\n};'
        ahead = self.found_in(store=store, reader=reader, owner=owner % "Reader reader_; Store store_;")
        self.assertEqual(ahead, ([], [("Owner", "Reader", "Store")]))
        self.assertEqual(self.found_in(store=store, reader=reader, owner=owner % "Store store_; Reader reader_;"), ([], []))


if __name__ == "__main__":
    unittest.main()
