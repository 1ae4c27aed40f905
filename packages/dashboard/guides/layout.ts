import { type Contents, contentsPage } from './contents.ts'
import { toHtml } from './html.ts'

/** A page around an article. It loads its style and its script from the installation. */
export function layOut(
  { title, address, article }: { title: string; address: string; article: string },
  { groups, pages }: Contents,
): string {
  const entry = (page: { title: string; address: string }) =>
    `<li><a href="${page.address}"${page.address === address ? ' aria-current="page"' : ''}>${toHtml(page.title)}</a></li>`
  const start = pages.get(contentsPage)?.title ?? ''
  const list = groups
    .map(
      group => `<h2 class="group">${toHtml(group.title)}</h2>\n<ul>${group.pages.map(entry).join('')}</ul>`,
    )
    .join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toHtml(title)} · Keyrail</title>
<link rel="icon" href="/app/icon.svg">
<link rel="stylesheet" href="/guides/guides.css">
<script src="/guides/guides.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="brand" href="/guides"><img src="/app/icon.svg" alt="" width="24" height="24">Keyrail ${start}</a>
<search hidden><label for="words">Search</label><input id="words" type="search" autocomplete="off" placeholder="Search the guides"><div id="found" role="status"></div></search>
<nav aria-label="Elsewhere"><a href="/app">Dashboard</a><a href="/docs/">API reference</a></nav>
</header>
<div class="columns">
<details class="contents" open><summary>Contents</summary><nav aria-label="Guides">${list}</nav></details>
<main id="content">
${article}
</main>
</div>
</body>
</html>
`
}
