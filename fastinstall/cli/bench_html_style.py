"""The style of the page of a bench report: light and dark, for a phone and for paper.

Text has a contrast of at least 4.5 to what it stands on, the line of a bar one of at least 3. Source: WCAG 2.2, 1.4.3
and 1.4.11. The colours of stages are those of Okabe and Ito.
"""

from fastinstall.model.loading import Stage

INK, PAPER, FAINT, LINE, BOX = "#1b1f24", "#ffffff", "#57606a", "#d0d7de", "#f6f8fa"
DARK_INK, DARK_PAPER, DARK_FAINT, DARK_LINE, DARK_BOX = "#e6edf3", "#0d1117", "#9198a1", "#3d444d", "#151b23"
_STAGES = {
    Stage.READ: "#0072b2",
    Stage.DECODE: "#e69f00",
    Stage.CONVERT: "#f0e442",
    Stage.RESIZE: "#009e73",
    Stage.CROP: "#cc79a7",
    Stage.ARRAY: "#56b4e9",
    Stage.TENSOR: "#999999",
}
_KEYS = "".join(
    f".stage-{stage}{{fill:{colour}}}.key-{stage}{{background:{colour}}}\n" for stage, colour in _STAGES.items()
)

STYLE = f"""
:root{{--ink:{INK};--paper:{PAPER};--faint:{FAINT};--line:{LINE};--box:{BOX};--more:#0072b2;--less:#d55e00}}
@media (prefers-color-scheme:dark){{
:root{{--ink:{DARK_INK};--paper:{DARK_PAPER};--faint:{DARK_FAINT};--line:{DARK_LINE};--box:{DARK_BOX};
--more:#56b4e9;--less:#e69f00}}}}
*{{box-sizing:border-box}}
html{{font-size:100%;-webkit-text-size-adjust:100%;text-size-adjust:100%}}
body{{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}}
main{{max-width:68rem;margin:0 auto;padding:1rem}}
h1{{font-size:1.6rem;line-height:1.25;margin:.5rem 0}}
h2{{font-size:1.35rem;line-height:1.3;margin:0 0 .5rem}}
h3{{font-size:1.1rem;margin:1.5rem 0 .5rem}}
p{{margin:.4rem 0}}
.about,.note{{color:var(--faint)}}
section{{border-top:1px solid var(--line);margin-top:1.5rem;padding-top:1.25rem}}
.verdict{{border-left:.3rem solid var(--more);padding:.4rem .8rem;background:var(--box);font-size:1.1rem}}
ul,ol{{padding-left:1.5rem;margin:.4rem 0}}
li{{margin:.25rem 0}}
pre{{background:var(--box);border:1px solid var(--line);border-radius:.4rem;padding:.6rem .8rem;margin:.4rem 0;
overflow-x:auto;font:1rem/1.4 ui-monospace,monospace;overflow-wrap:normal}}
.wide{{overflow-x:auto;max-width:100%;margin:.5rem 0}}
table{{border-collapse:collapse;font-size:1rem}}
th,td{{text-align:left;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}}
td:first-child:not(.figure){{white-space:normal;min-width:9rem}}
th{{color:var(--faint);font-weight:600}}
.figure{{text-align:right;font-variant-numeric:tabular-nums}}
.stack{{display:block;width:100%;height:2.5rem;border-radius:.3rem}}
.bar{{display:block}}
.more{{fill:var(--more)}}
.less{{fill:var(--less)}}
.one{{stroke:var(--ink);stroke-width:1.5}}
.key{{display:inline-block;width:.8rem;height:.8rem;margin-right:.5rem;border:1px solid var(--faint)}}
{_KEYS}@media print{{
:root{{--ink:#000;--paper:#fff;--faint:#333;--line:#999;--box:#fff;--more:#0072b2;--less:#d55e00}}
main{{max-width:none;padding:0}}
body{{font-size:10pt}}
.wide,pre{{overflow:visible}}
pre{{white-space:pre-wrap}}
table{{font-size:8pt}}
th,td{{white-space:normal;overflow-wrap:normal;padding:.15rem .5rem .15rem 0}}
.figure{{white-space:nowrap}}
.bar{{width:60px}}
h2,h3{{break-after:avoid}}
tr,svg,pre{{break-inside:avoid}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}
"""
