"""Bar charts as SVG, legible on light and dark pages."""

from xml.sax.saxutils import escape

OURS = "framefs"  # with options, too
WIDTH, LEFT, RIGHT = 780, 150, 90
BAR, GAP, GROUP_GAP, TOP = 16, 4, 20, 46
STYLE = """text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.head { font-weight: 600; } .framefs { fill: #2f7ed8; } .peer { fill: #a7adb5; } .spread { stroke: #1f2328; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .framefs { fill: #4c9aff; } .peer { fill: #6e7681; } .spread { stroke: #e6edf3; }
}"""
ABOUT = "How fast framefs and other filesystems read and write"


def link(folder):
    return f"![{ABOUT}]({folder}speed.svg)"


def as_svg(title, groups):
    """`groups` are (heading, rows); a row has who, median, least and most.  Each group has its own
    scale."""
    parts, y = [], TOP
    for heading, rows in groups:
        scale = (WIDTH - LEFT - RIGHT) / max(row["most"] for row in rows)
        parts.append(f'<text class="head" x="{LEFT}" y="{y}">{escape(heading)}</text>')
        y += 8
        for row in rows:
            middle = y + BAR / 2
            most = LEFT + row["most"] * scale
            parts.append(
                f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{escape(row["who"])}</text>'
                f'<rect class="{"framefs" if row["who"].startswith(OURS) else "peer"}" x="{LEFT}" y="{y}" '
                f'width="{row["median"] * scale:.1f}" height="{BAR}" rx="2"/>'
                f'<line class="spread" x1="{LEFT + row["least"] * scale:.1f}" x2="{most:.1f}" '
                f'y1="{middle}" y2="{middle}"/>'
                f'<text x="{most + 6:.1f}" y="{middle + 4}">{row["median"]:,.0f}</text>')
            y += BAR + GAP
        y += GROUP_GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
            f'role="img" aria-label="{ABOUT}">\n<style>{STYLE}</style>\n'
            f'<text class="head" x="{LEFT}" y="18">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n")
