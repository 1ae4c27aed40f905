import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after } from 'node:test'

/** Long enough to be compressed. */
export const script = `console.log(${JSON.stringify('built '.repeat(1_000))})\n`

export const index = `<!doctype html>
<html lang="en">
<head>
<meta name="csp-nonce" content="__CSP_NONCE__">
<meta name="password-min-length" content="__PASSWORD_MIN_LENGTH__">
<meta name="sign-up" content="__SIGN_UP__">
<meta name="mail" content="__MAIL__">
<link rel="icon" href="/app/icon.svg" type="image/svg+xml">
<script type="module" src="/app/assets/index-A1b2.js"></script>
<style nonce="__CSP_NONCE__">body { margin: 0 }</style>
</head>
<body></body>
</html>
`

/** A folder with the files of a build, which is removed with the test file. */
export function makeBuild(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-dashboard-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  writeBuild(folder, {
    'index.html': index,
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'built.json': '{"sources":"of the test"}',
    'assets/index-A1b2.js': script,
    'assets/index-C3d4.css': `body { content: "${'built '.repeat(1_000)}" }`,
    ...files,
  })
  return folder
}

export function writeBuild(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}
