"""A bar chart of cold sequential reads as SVG, legible on light and dark pages."""

from xml.sax.saxutils import escape

import disciplines as d
from report import README_DATA, README_PEERS, figures

WIDTH, LEFT, RIGHT = 760, 130, 70
BAR, GAP, GROUP_GAP, TOP = 18, 5, 22, 46
STYLE = """text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.head { font-weight: 600; } .framefs { fill: #2f7ed8; } .peer { fill: #a7adb5; } .spread { stroke: #1f2328; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .framefs { fill: #4c9aff; } .peer { fill: #6e7681; } .spread { stroke: #e6edf3; }
}"""


def groups_of(document):
    """(heading, [(who, MB/s, least, most)]) for each measured kind of data."""
    rows = figures(document)
    for data in README_DATA:
        bars = []
        for who in (d.FRAMEFS, *README_PEERS):
            row = rows.get((d.SEQUENTIAL, who, f"{data} 128K" if who == d.FRAMEFS else data))
            if row:
                bars.append((who, row["median"], row["least"], row["most"]))
        if bars:
            yield data, bars


def as_svg(document):
    groups = list(groups_of(document))
    most = max(bar[3] for _, bars in groups for bar in bars)
    scale = (WIDTH - LEFT - RIGHT) / most
    parts, y = [], TOP
    for heading, bars in groups:
        parts.append(f'<text class="head" x="{LEFT}" y="{y}">{escape(heading)}</text>')
        y += 8
        for who, median, least, high in bars:
            middle = y + BAR / 2
            parts.append(
                f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(who)}</text>'
                f'<rect class="{"framefs" if who == d.FRAMEFS else "peer"}" x="{LEFT}" y="{y}" '
                f'width="{median * scale:.1f}" height="{BAR}" rx="2"/>'
                f'<line class="spread" x1="{LEFT + least * scale:.1f}" x2="{LEFT + high * scale:.1f}" '
                f'y1="{middle}" y2="{middle}"/>'
                f'<text x="{LEFT + high * scale + 6:.1f}" y="{middle + 4}">{median:.0f}</text>')
            y += BAR + GAP
        y += GROUP_GAP
    title = (f'<text class="head" x="{LEFT}" y="18">Cold sequential read of 128 KiB blocks: median MB/s of '
             f'{document["options"]["runs"]} runs, the line is the spread</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
            f'role="img" aria-label="MB/s of a cold sequential read">\n'
            f"<style>{STYLE}</style>\n{title}\n" + "\n".join(parts) + "\n</svg>\n")
