"""Checks that every list of options agrees with the program: --help, the man pages, the completion
for shells, the words after -o, and the documents."""

import pathlib
import re
import subprocess
import unittest

import daemon
from command_case import CommandCase

ROOT = daemon.ROOT
MAN_PAGE = ROOT / "src/man/framefs.1"
HELPER_PAGE = ROOT / "src/man/mount.framefs.8"
DOCUMENTS = ("README.md", "fs/SEMANTICS.md")

# Each command, and its section of the man page.
SECTIONS = {"mount": "MOUNTING", "info": "INFO", "unpack": "UNPACKING", "pack": "PACKING",
            "check": "CHECKING", "compact": "COMPACTING", "index": "INDEXING", "ls": "LS", "cat": "CAT", "warm": "WARM",
            "list": "LISTING", "stats": "STATISTICS", "top": "TOP",
            "umount": "UNMOUNTING", "log": "LOG", "doctor": "DOCTOR", "demo": "DEMO", "completion": "COMPLETION"}
HELP = {"-h", "--help"}  # every command has them; the man page lists them once
COMMAND_LINE_ONLY = {"foreground", "version"}  # not words of mount(8)

# Words of mount(8), of libfuse and of other filesystems.  The man page has those that framefs
# accepts.
OTHER_WORDS = """allow_root auto_unmount bg bind default_permissions diratime fg iversion
    loud mand max_read=4096 nolazytime nomand norelatime nosymfollow nouser_xattr
    retry=3 size=1M user_id=0""".split()

# Runs the completion of `framefs WORDS...` as an interactive shell would.
COMPLETE = r"""
_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; cur=${words[cword]} prev=${words[cword-1]}; }
_filedir() { COMPREPLY+=("a file"); }
compopt() { :; }
source "$1"; shift
COMP_WORDS=(framefs "$@") COMP_CWORD=$#
COMPREPLY=()
_framefs
printf '%s\n' "${COMPREPLY[@]}"
"""


def words_in(text):
    """The options named in a text: --long and -s."""
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[A-Za-z])(?![\w-])", text))


class Option:
    """One option as --help shows it."""

    def __init__(self, text):
        head, _, about = text.strip().partition("  ")
        names = re.match(r"--?[\w-]+(, --?[\w-]+)*", head)[0]
        self.names = set(names.split(", "))
        self.takes_value = len(head) > len(names)
        default = re.search(r"\(default: (\S+)\)", re.sub(r"\s+", " ", about))
        self.default = default[1] if default else None


def options_in_help(text):
    """The Option objects of a help text.  Two spaces or a newline separate an option from its
    description."""
    listed = re.split(r"(?m)^Options:\n", text)[1].split("\n\n")[0]
    return [Option(re.sub(r"\n +", "  ", part)) for part in re.split(r"(?m)^  (?=-)", listed)[1:]]


def roff_text(text):
    """The text of a man page, without its requests and fonts."""
    text = re.sub(r"(?m)^\.(\w+)", "", text)
    text = re.sub(r"\\f.", "", text).replace(r"\(dq", '"')
    return text.replace("\\-", "-").replace('"', " ")


def sections_of(page):
    """The source of each section of a man page, by its title."""
    parts = re.split(r'(?m)^\.SH "?([^"\n]+)"?\n', page.read_text())
    return dict(zip(parts[1::2], parts[2::2]))


def entries_of(section):
    """(tag, text) for each .TP entry of a section."""
    for entry in re.split(r"(?m)^\.TP\n", section)[1:]:
        tag, _, text = entry.partition("\n")
        yield roff_text(tag), roff_text(text)


def mount_words_in_man_page():
    """The words after -o: framefs' own, those for the kernel, and those that are ignored."""
    entry = sections_of(MAN_PAGE)["MOUNTING"].split("\n.BI \\-o ")[1].split("\n.TP\n")[0]
    lines = [[line for line in part.splitlines() if re.match(r"\.BR [a-z_=]+( \", \"|$| [,.])", line)]
             for part in entry.split("\n.IP\n")]
    return [set(re.findall(r"[a-z_]+=?", " ".join(part).replace(".BR", ""))) for part in lines]


class Options(CommandCase):
    def setUp(self):
        self.options = {command: options_in_help(self.framefs(command, "--help").stdout.decode())
                        for command in SECTIONS}
        self.names = {command: set().union(*(option.names for option in options)) - HELP
                      for command, options in self.options.items()}
        self.names["mount"].add("-o")  # expanded before parsing; described below the options

    def long_options_of_mount(self):
        """name -> Option, without the hyphens in front."""
        return {name[2:]: option for option in self.options["mount"] for name in option.names
                if name.startswith("--") and name not in HELP}

    def mount_words(self):
        """The words after -o that framefs itself has, with = if a value follows."""
        return {name.replace("-", "_") + ("=" if option.takes_value else "")
                for name, option in self.long_options_of_mount().items() if name not in COMMAND_LINE_ONLY}

    def refused_word(self, words):
        """The first of these words that -o does not know, or None.  A missing value is added."""
        text = ",".join(word + "1" if word.endswith("=") else word for word in words)
        result = self.tool(daemon.FRAMEFS, "SOURCE", "MOUNTPOINT", "-o", text, "--help", check=False)
        told = result.stderr.decode()
        refused = re.search(r"(?:unknown mount option|takes no value): (\S+)|(\S+) needs a value", told)
        return refused and (refused[1] or refused[2])

    def assert_all_refused(self, words):
        # A program with a sanitizer starts slowly.
        for word in sorted(words)[::10 if daemon.SANITIZED else 1]:
            self.assertEqual(self.refused_word([word]), word)

    def complete(self, *words):
        script = self.folder / "framefs.bash"
        if not script.exists():
            script.write_bytes(self.framefs("completion", "bash").stdout)
        result = subprocess.run(["bash", "-c", COMPLETE, "bash", script, *words], capture_output=True,
                                text=True, timeout=daemon.DEADLINE_S, check=True)
        self.assertEqual(result.stderr, "")
        return set(result.stdout.split("\n")) - {""}

    def test_the_help_lists_every_command(self):
        listed = re.findall(r"(?m)^  ([a-z]+)  ", self.framefs("help").stdout.decode().rpartition("\nCommands")[2])
        self.assertEqual(sorted(listed), sorted(SECTIONS))

    def test_the_man_page_has_every_option(self):
        sections = sections_of(MAN_PAGE)
        for command, title in SECTIONS.items():
            with self.subTest(command):
                tags = " ".join(tag for tag, _ in entries_of(sections[title]))
                self.assertEqual(words_in(tags) - HELP, self.names[command])

    def test_the_man_page_has_every_default(self):
        sections = sections_of(MAN_PAGE)
        checked = 0
        for command, options in self.options.items():
            for option in options:
                if option.default is None:
                    continue
                with self.subTest(command, option=option.names):
                    (entry,) = [text for tag, text in entries_of(sections[SECTIONS[command]])
                                if option.names <= words_in(tag) | words_in(text) and option.names & words_in(tag)]
                    self.assertRegex(entry, rf"\b{re.escape(option.default)}\b")
                    checked += 1
        self.assertGreater(checked, 4)

    def test_the_man_page_has_every_mount_word(self):
        own, of_the_kernel, ignored = mount_words_in_man_page()
        self.assertEqual(own, self.mount_words())
        self.assertIn("noexec", of_the_kernel)
        self.assertIn("nofail", ignored)

    def test_words_of_mount_8_are_taken_as_the_man_page_says(self):
        listed = set().union(*mount_words_in_man_page())
        self.assertIsNone(self.refused_word([*sorted(listed), "x-systemd.automount"]))
        self.assertFalse(listed & set(OTHER_WORDS))
        self.assert_all_refused(OTHER_WORDS)

    def test_options_of_the_command_line_alone_are_no_mount_words(self):
        self.assertLessEqual(COMMAND_LINE_ONLY, set(self.long_options_of_mount()))
        self.assert_all_refused({*COMMAND_LINE_ONLY, "help"})
        self.assert_all_refused({word[:-1] if word.endswith("=") else word + "=1" for word in self.mount_words()})

    def test_the_page_of_mount_names_real_words(self):
        text = roff_text(HELPER_PAGE.read_text())
        known = self.mount_words() | {"nofail"}
        named = set(re.findall(r"\b([a-z]+_[a-z]+=?|arrays=|offset=|plain=|rule=)", text))
        self.assertGreater(len(named), 3)
        self.assertLessEqual(named, known)

    def test_the_completion_has_every_option(self):
        for command in SECTIONS:
            with self.subTest(command):
                # Short forms need no completion.
                wanted = {name for name in self.names[command] if name.startswith("--")} | {"--help"}
                self.assertEqual({name for name in self.complete(command, "--") if name.startswith("--")}, wanted)
        self.assertLessEqual({"-o", "--cache-size"}, self.complete("-"))

    def test_the_completion_has_every_command_and_word(self):
        self.assertEqual(self.complete("") - {"a file"}, {*SECTIONS, "help"})
        self.assertEqual(self.complete("help", ""), set(SECTIONS))
        self.assertEqual(self.complete("completion", ""), {"bash", "zsh", "fish"})
        completed = self.complete("-o", "")
        self.assertLessEqual(self.mount_words(), completed)
        self.assertIsNone(self.refused_word(sorted(completed)))

    def test_the_completion_of_umount_and_stats_offers_mounts(self):
        mounts = {line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                  if line.split()[2] == "fuse.framefs"}
        with self.mount() as mount:
            for command in ("umount", "stats"):
                offered = self.complete(command, "")
                self.assertIn(str(mount.mountpoint), offered)
                self.assertNotIn("a file", offered)
                self.assertLessEqual(mounts & offered, mounts)

    def test_the_completion_has_every_choice(self):
        """The choices in a command's help: all of them are accepted, and no others are offered."""
        self.assertEqual(self.complete("--arrays", ""), {"npy", "raw", "both"})
        self.assertEqual(self.complete("unpack", "--arrays", ""), {"npy", "raw"})
        self.assertEqual(self.complete("pack", "--codec", ""), {"blosclz", "lz4", "lz4hc", "zlib", "zstd"})
        self.assertEqual(self.complete("pack", "--filter", ""), {"none", "shuffle", "bitshuffle", "bytedelta"})
        plain = self.folder / "plain"
        plain.write_bytes(b"some bytes" * 100)
        for option in ("--codec", "--filter"):
            for choice in self.complete("pack", option, ""):
                self.framefs("pack", "-f", option, choice, plain)
            self.assert_refused("pack", option, "no-such", plain, cause="no-such")

    def test_an_option_with_a_value_completes_no_option_behind_it(self):
        for command, options in self.options.items():
            for option in options:
                if option.takes_value:
                    for name in option.names:
                        self.assertFalse({word for word in self.complete(command, name, "--") if word.startswith("--")},
                                         f"{command} {name}")

    def test_no_help_is_wider_than_a_terminal(self):
        for command in SECTIONS:
            for line in self.framefs(command, "--help").stdout.decode().splitlines():
                self.assertLessEqual(len(line), 80, line)
                self.assertNotRegex(line, r"TEXT|UINT|FLOAT|INT in", "types of the parser are nobody's business")

    def test_a_slip_is_met_with_a_suggestion(self):
        for arguments, wanted in ((["--cach-size", "1M", "a", "b"], "did you mean --cache-size?"),
                                  (["-o", "kep_suffix", "a", "b"], "did you mean keep_suffix?"),
                                  (["unpak", "x"], "did you mean unpack?"),
                                  (["help", "cmpact"], "did you mean compact?"),
                                  (["pack", "--codec", "zsdt", "x"], "did you mean zstd?"),
                                  (["mount", "a", "b", "-o", "cache_size"], "cache_size=SIZE"),
                                  (["info", "--offset"], "--offset needs a value"),
                                  (["pack", "--level=3", "--level=9", "x"], "--level is given more than once")):
            self.assert_refused(*arguments, cause=wanted)

    def test_completion_for_other_shells(self):
        for shell in ("zsh", "fish"):
            script = self.framefs("completion", shell).stdout.decode()
            for command in SECTIONS:
                for name in self.names[command] - {"-o"}:
                    self.assertIn(name if shell == "zsh" else name.lstrip("-"), script, (shell, command))

    def test_the_documents_name_real_options(self):
        known = set().union(*self.names.values()) | HELP
        for document in DOCUMENTS:
            text = (ROOT / document).read_text()
            spans = re.findall(r"`(-[^`]*)`", text)
            commands = re.findall(r"(?m)^ {4}.*framefs .*$|`framefs [^`]*`", text)
            named = set().union(*(words_in(re.sub(r"#.*|\|.*", "", part)) for part in (*spans, *commands)))
            self.assertGreater(len(named), 3, document)
            self.assertLessEqual(named, known, document)


if __name__ == "__main__":
    unittest.main()
