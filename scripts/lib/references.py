"""Draws which classes refer to which, from the members that the headers declare.

    references.py            prints `class: the classes that its members name`, one line each
    references.py --circles  prints one line for each circle of them, as scripts/lint wants it
    references.py --order    prints the members that refer to a member that is declared later

A class here is one at the level of a namespace; the members of the classes inside count as its
own.  A member that is a function says nothing.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("codec", "fs", "src")
TOKENS = re.compile(r"[{};]|[^{};]+")
CLASS = re.compile(r"\b(?<!enum )(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^:].*)?$", re.S)
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^[ \t]*#[^\n]*', re.S | re.M)
MEMBER = re.compile(r"^[^()=]+[\s&*>]\w+\s*(?:=.*)?$", re.S)


class Header:
    """The classes of a header, and the names in the types of their members."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.path = path
        self.included = re.findall(r'^#include "([^"]+)"', text, re.M)
        self.classes = {}  # name -> [(the words of a member's type, whether it is a reference)]
        self.announced = set()
        self.scan(TEXT.sub(" ", text))

    def scan(self, text):
        scopes, statement = [], ""  # of each brace: the name of a class, or None
        for token in TOKENS.findall(text):
            if token == "{":
                found = CLASS.search(statement.strip())
                is_nested = any(scopes)
                scopes.append((self.outermost(scopes) if is_nested else found[1]) if found else None)
                if found and not is_nested:
                    self.classes.setdefault(found[1], [])
                # `Type member{initial};` is a member, too.
                if not found and scopes[:-1] and scopes[-2]:
                    self.note(scopes[-2], statement)
                statement = ""
            elif token == "}":
                if scopes:
                    scopes.pop()
                statement = ""
            elif token == ";":
                if scopes and scopes[-1]:
                    self.note(scopes[-1], statement)
                elif found := re.fullmatch(r"\s*(?:class|struct)\s+(\w+)\s*", statement):
                    self.announced.add(found[1])
                statement = ""
            else:
                statement += token

    @staticmethod
    def outermost(scopes):
        return next(name for name in scopes if name)

    def note(self, owner, statement):
        declared = re.sub(r"^(\s*(public|private|protected)\s*:)+", "", statement.strip()).strip()
        if MEMBER.match(declared) and not re.match(r"(using|friend|static|typedef|enum|template)\b", declared):
            words = re.findall(r"\w+", declared.split("=")[0])
            self.classes[owner].append((set(words) - {owner}, bool(re.search(r"[&*]|_ptr<", declared))))


def read_headers(root=ROOT):
    return {str(path.relative_to(root)): Header(path)
            for folder in FOLDERS for path in sorted((root / folder).rglob("*.h"))}


def resolver(headers):
    """Returns resolve(header, words): the classes [(header, class)] that words in a header name."""
    places = {}  # name -> headers that define it
    for name, header in headers.items():
        for defined in header.classes:
            places.setdefault(defined, []).append(name)
    known = {}

    def closure(name):
        if name not in known:
            known[name] = {name}
            for other in headers[name].included:
                if other in headers:
                    known[name] |= closure(other)
        return known[name]

    def resolve(name, words):
        return [(place, word) for word in sorted(words) for place in places.get(word, ())
                if place in closure(name) or word in headers[name].announced]

    return resolve


def references(headers, resolve, is_wanted=lambda is_reference: True):
    """{(header, class): [(header, class)]}"""
    found = {}
    for name, header in headers.items():
        for owner, members in header.classes.items():
            words = set().union(*(words for words, is_reference in members if is_wanted(is_reference)))
            found[name, owner] = resolve(name, words)
    return found


def disorder(headers, resolve):
    """(header, class, member's class, the later member's class that it refers to)"""
    refers = references(headers, resolve, lambda is_reference: is_reference)
    for name, header in headers.items():
        for owner, members in header.classes.items():
            owned = [set(resolve(name, words)) for words, is_reference in members if not is_reference]
            for i, here in enumerate(owned):
                later = set().union(*owned[i + 1:]) - set().union(*owned[:i + 1])
                for one in sorted(here):
                    for other in sorted(later & set(refers[one])):
                        yield name, owner, one[1], other[1]


def circles(edges):
    """The strongly connected parts of more than one class (Tarjan)."""
    order, low, stack, result = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                result.append(sorted(part))

    for node in edges:
        if node not in order:
            visit(node)
    return sorted(result)


def main():
    headers = read_headers()
    resolve = resolver(headers)
    edges = references(headers, resolve)
    if "--circles" in sys.argv[1:]:
        for part in circles(edges):
            print(f"{part[0][0]}: " + ", ".join(name for _, name in part))
    elif "--order" in sys.argv[1:]:
        for name, owner, one, other in disorder(headers, resolve):
            print(f"{name}: {owner}: {one} refers to {other}, which is declared later")
    else:
        for (_, owner), others in sorted(edges.items(), key=lambda edge: edge[0][1]):
            print(f"{owner}: {' '.join(name for _, name in others)}".rstrip(": "))


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main()
