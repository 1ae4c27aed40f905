import { hash } from 'node:crypto'
import { pageHeaders } from '../platform/http/serve-static.ts'

/** No page of another origin may open it as a window that it controls, or embed its files. */
const isolation = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const ownFiles = { 'connect-src': "'self'", 'img-src': "'self'", 'font-src': "'self'" }

/** The page loads from this host only, and applies only styles that carry its nonce. It has no inline script. */
export const pageHeadersWith = (nonce: string) => ({
  ...pageHeaders({
    'script-src': "'self'",
    'style-src': `'self' 'nonce-${nonce}'`,
    ...ownFiles,
  }),
  ...isolation,
})

/** Headers of the files that the page loads; a file opened by itself runs and applies nothing inline. */
export const fileHeaders = {
  ...pageHeaders({ 'script-src': "'self'", 'style-src': "'self'", ...ownFiles }),
  ...isolation,
}

/** The widget is a script that runs on pages of other origins; its source is public. */
export const widgetHeaders = {
  ...pageHeaders({}),
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

/** The page of a notice consists of one style and at most one script, which it allows by their hashes. */
export const noticeHeaders = (style: string, script: string | null) => ({
  ...pageHeaders({
    ...(script !== null && { 'script-src': hashOf(script), 'connect-src': "'self'" }),
    'style-src': hashOf(style),
    // Its icon.
    'img-src': 'data:',
  }),
  ...isolation,
})

const hashOf = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`
