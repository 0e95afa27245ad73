"""The style of a report's page, light and dark."""

STYLE = """
:root {
  --paper: #ffffff; --ink: #1c2024; --quiet: #5b6570; --rule: #d9dee3; --shade: #f3f5f7;
  --error: #b3261e; --warning: #8a5300; --note: #47515b; --line: #1f6fb2; --span: #f7e3c0;
  --good: #1d6b3a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181b; --ink: #e6e9ec; --quiet: #9aa5b0; --rule: #363d44; --shade: #1e2328;
    --error: #ff8a80; --warning: #f2b84b; --note: #b4bec8; --line: #6fb3ee; --span: #4a3c1c;
    --good: #7fd09b;
  }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 820px; margin: 0 auto; padding: 24px 20px 40px; }
h1 { font-size: 22px; margin: 0 0 16px; }
h2 { font-size: 18px; margin: 32px 0 4px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 4px 0 8px; overflow-wrap: anywhere; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.top { padding: 14px 16px 14px 40px; margin: 0; background: var(--shade); border-radius: 6px; }
.top li { margin: 4px 0; overflow-wrap: anywhere; }
li.error strong { color: var(--error); }
li.warning strong { color: var(--warning); }
.healthy { color: var(--good); font-size: 17px; }
.steps, .remark, footer { color: var(--quiet); }
.badge { border: 1px solid; border-radius: 4px; padding: 0 6px; font-size: 12px; font-weight: 600; }
.badge.error { color: var(--error); }
.badge.warning { color: var(--warning); }
.badge.note { color: var(--note); }
article { border-top: 1px solid var(--rule); padding-bottom: 12px; }
article h3 { font-weight: 400; }
article h3 .badge + code { font-weight: 700; }
figure { margin: 8px 0; }
svg { max-width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg .line { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-linejoin: round; }
svg .dot { fill: var(--line); }
svg .axis { fill: none; stroke: var(--quiet); }
svg .span { fill: var(--span); }
svg .cross { fill: none; stroke: var(--error); stroke-width: 1.5; }
svg .label { fill: var(--quiet); }
svg .title { fill: var(--ink); }
svg .bad { fill: var(--error); }
.wide { overflow-x: auto; margin: 6px 0 12px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 12px 2px 0; text-align: left; border-bottom: 1px solid var(--rule); white-space: pre; }
th { color: var(--quiet); font-weight: 500; }
summary { cursor: pointer; color: var(--quiet); }
footer { margin-top: 32px; font-size: 13px; }
"""
