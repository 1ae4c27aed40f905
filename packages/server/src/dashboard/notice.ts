import { noticeHeaders } from './policy.ts'

/** A page that stands in for the dashboard. It loads nothing. */
export interface Notice {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

const style = `:root { color-scheme: light dark; --text: #1b2420; --quiet: #55615b; --ground: #f4f6f5; --card: #ffffff; --edge: #dbe1de }
@media (prefers-color-scheme: dark) { :root { --text: #e8eeeb; --quiet: #a5b2ac; --ground: #0f1412; --card: #171e1b; --edge: #2b3531 } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--text); font: 1rem/1.55 system-ui, sans-serif }
main { box-sizing: border-box; width: 100%; max-width: 46rem; padding: 2rem 1rem }
h1 { margin: 0 0 0.5rem; font-size: 1.5rem }
p { margin: 0 0 1rem; color: var(--quiet) }
a { color: inherit }
pre { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--edge); border-radius: 0.5rem; background: var(--card); white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.875rem }`

/** The value of Retry-After while the dashboard is being built, in seconds. */
export const buildingRetryAfter = '1'

/** Reloads the page when its address answers something else, so that the page does not flicker meanwhile. */
const reload = `const look = async () => {
  try {
    const { headers } = await fetch(location.href, { method: 'HEAD', cache: 'no-store' })
    if (headers.get('retry-after') !== '${buildingRetryAfter}') return location.reload()
  } catch {}
  setTimeout(look, 1000)
}
setTimeout(look, 1000)`

const icon = Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1d6a58"/>\
<path fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" \
d="M6.5 16a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0M15.5 16H26M21 16v4.5M25 16v3"/></svg>`,
).toString('base64')

const api = '<p>The API works meanwhile. Its reference is at <a href="/docs">/docs</a>.</p>'

/** @param body the paragraphs below the title, as HTML. */
export const noticeOf = (title: string, body: string, script: string | null = null): Notice => ({
  html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Keyrail</title>
<link rel="icon" href="data:image/svg+xml;base64,${icon}">
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
${script === null ? '' : `<script>${script}</script>\n`}</body>
</html>
`,
  headers: noticeHeaders(style, script),
})

export const buildingNotice = noticeOf(
  'The dashboard is being built',
  '<p role="status">This takes some seconds after an installation or an upgrade. The page opens by itself; without JavaScript, reload it.</p>' +
    api,
  reload,
)

export const failedNotice = noticeOf(
  'The dashboard could not be built',
  `<p>The operator finds why in the console or the log of the service, or with <code>keyrail doctor</code>. The next start of the service tries again. <code>SERVICE_DASHBOARD=off</code> runs it without a dashboard.</p>${api}`,
)
