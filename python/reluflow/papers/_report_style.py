"""The look of the report: one column on a phone, contents beside it on a desk, light or dark as the system is."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #fbfbf9; --card: #ffffff; --ink: #1d2127; --soft: #5b636d; --line: #dfe1dc;
  --link: #0a5ea8; --code: #f0f1ec;
  --holds: #00704f; --misprint: #6b4fa0; --differs: #8a5a00; --open: #5d6570; --failed: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a; --card: #1c2024; --ink: #e7e9ea; --soft: #a3abb3; --line: #343a40;
    --link: #82bdf2; --code: #262b30;
    --holds: #4fc79a; --misprint: #b9a2e8; --differs: #e3b04b; --open: #a3abb3; --failed: #ff8a80;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
.page { max-width: 80rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .6rem; padding-top: .6rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.05rem; line-height: 1.3; margin: 0; }
h4 { font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; color: var(--soft); margin: 1rem 0 .2rem; }
p { margin: .3rem 0; }
code { background: var(--code); border-radius: 3px; padding: 0 .25em; font-size: .92em; }
.soft { color: var(--soft); font-size: .9rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .8rem 0; padding: 0; list-style: none; }
.badge { display: inline-block; border: 1.5px solid currentColor; border-radius: 999px; padding: 0 .6em;
  font-size: .78rem; font-weight: 600; line-height: 1.6; white-space: nowrap; }
.holds { color: var(--holds); } .misprint { color: var(--misprint); }
.differs { color: var(--differs); } .open { color: var(--open); }
.failed { color: var(--failed); }
.top { max-width: 80rem; margin: 0 auto; padding: 1rem 1rem 0; }
nav details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
nav summary { cursor: pointer; font-weight: 600; }
nav ol { list-style: none; margin: .3rem 0; padding: 0; }
nav li { display: flex; gap: .5rem; align-items: baseline; justify-content: space-between; padding: .12rem 0;
  font-size: .9rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .9rem 1rem; margin: 1rem 0; }
article header { display: flex; gap: .8rem; align-items: baseline; justify-content: space-between; }
figure { margin: .8rem 0; overflow-x: auto; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; background: #fff;
  border-radius: 6px; padding: 4px; }
figcaption { color: var(--soft); font-size: .85rem; margin-top: .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-top: .8rem; color: var(--soft); font-size: .85rem; padding-bottom: .2rem; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); font-size: .8rem; }
th, td { overflow-wrap: normal; }
.sheet td, .sheet th { white-space: nowrap; }
td.mark { font-weight: 700; padding-right: 0; }
.why { border-left: 3px solid currentColor; padding-left: .7rem; margin: .8rem 0 .2rem; }
.why p { color: var(--ink); }
.rows { color: var(--soft); font-size: .78rem; margin-top: .8rem; }
@media (min-width: 64rem) {
  .page { display: grid; grid-template-columns: 19rem minmax(0, 1fr); gap: 2.5rem; }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1rem .5rem 2rem 0; }
}
@media (max-width: 40rem) {
  figure img.broad { min-width: 36rem; }
  .numbers thead { display: none; }
  .numbers tr { display: grid; grid-template-columns: 1fr 1.2fr 1.2rem; column-gap: .6rem; padding: .3rem 0;
    border-bottom: 1px solid var(--line); }
  .numbers td { border: 0; padding: 0; overflow-wrap: anywhere; }
  .numbers td:first-child { grid-column: 1 / -1; color: var(--soft); font-size: .85rem; }
  .numbers td:nth-child(3)::before { content: "expected "; color: var(--soft); font-size: .8rem; }
  .numbers td:nth-child(3):empty::before { content: ""; }
}
@media print { nav { display: none; } article { break-inside: avoid; } }
"""
