/** The style of the reference page, and its script that copies commands. Both are inlined. */

export const STYLE = `
:root { color-scheme: light dark; --text: #1a1d21; --soft: #5b6470; --line: #e3e6ea; --back: #fff; --panel: #f6f7f9; --link: #0b5cd6; --key: #0b5cd6; --string: #1c7a43; --get: #1c7a43; --post: #0b5cd6; --put: #9a5b00; --delete: #c02d2d; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --soft: #98a1ad; --line: #2a2f36; --back: #121417; --panel: #1b1e23; --link: #78aefc; --key: #78aefc; --string: #7fd19b; --get: #7fd19b; --post: #78aefc; --put: #e0b060; --delete: #f08a8a; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back); overflow-wrap: break-word; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem 3rem 1.5rem; border-right: 1px solid var(--line); font-size: 0.9rem; }
nav summary, nav h2 { font-size: 0.9rem; margin: 1rem 0 0.25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { margin: 0.2rem 0; }
nav li a { color: var(--soft); }
nav .top { display: none; }
main { padding: 2rem 2.5rem 6rem; min-width: 0; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 0.5rem; }
h2 { font-size: 1.5rem; margin: 4rem 0 0.5rem; }
h3 { font-size: 1.1rem; margin: 0 0 0.4rem; }
h4 { font-size: 0.85rem; color: var(--soft); margin: 1.2rem 0 0.4rem; font-weight: 600; }
p { margin: 0.5rem 0; max-width: 46rem; }
small, .type, em { color: var(--soft); font-style: normal; font-size: 0.85em; }
em { color: var(--put); }
section.one { border-top: 1px solid var(--line); padding: 1.75rem 0; display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2rem; }
section.one > * { min-width: 0; }
.address { font: 600 0.9rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 0 0 0.5rem; }
.verb { color: var(--post); margin-right: 0.5ch; }
.verb.get { color: var(--get); } .verb.put, .verb.patch { color: var(--put); } .verb.delete { color: var(--delete); }
.fields { margin: 0; }
.fields div { padding: 0.45rem 0; border-top: 1px solid var(--line); }
.fields div.old { opacity: 0.7; }
dt code { font-weight: 600; }
dt .type code { font-weight: 400; }
dd { margin: 0; font-size: 0.92rem; }
.code { position: relative; }
pre { margin: 0 0 0.75rem; padding: 0.9rem 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 28rem; }
pre b { color: var(--key); font-weight: 400; } pre i { color: var(--string); font-style: normal; }
button { position: absolute; top: 0.5rem; right: 0.5rem; font: 0.75rem system-ui, sans-serif; padding: 0.2rem 0.6rem; border: 1px solid var(--line); border-radius: 6px; background: var(--back); color: var(--soft); cursor: pointer; }
details > summary { cursor: pointer; color: var(--soft); font-size: 0.85rem; margin: 0.8rem 0; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (max-width: 60rem) { section.one { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 48rem) {
  .page { display: block; }
  nav { position: static; height: auto; border: 0; border-bottom: 1px solid var(--line); padding: 1rem; }
  main { padding: 1rem 1rem 4rem; }
  h2 { margin-top: 3rem; }
}
`;

/** Copies the command beside a button. Without a clipboard the buttons stay hidden. */
export const SCRIPT = `
const menu = document.querySelector("nav details");
if (menu && innerWidth < 768) menu.open = false;
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("button")) button.hidden = false;
  document.addEventListener("click", async ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    await navigator.clipboard.writeText(target.parentElement.querySelector("code").textContent);
    target.textContent = "Copied";
    setTimeout(() => { target.textContent = "Copy"; }, 1500);
  });
}
`;
