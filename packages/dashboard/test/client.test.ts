import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routes } from '../../server/src/routes.ts'
import { readText, sourceFiles } from '../../server/test/source-files.ts'

/** The calls of the dashboard, as its sources declare them. Their types are those of the route that each names. */
interface Declared {
  readonly name: string
  /** A method and a path. */
  readonly route: string
}

const api = sourceFiles('packages/dashboard/src/api/*.ts')
const declaration = /\bconst (\w+) = endpoint\('(\w+ [^']+)'(?:, 'open')?\)/g
const declared: Declared[] = api.flatMap(({ code }) =>
  [...code.matchAll(declaration)].map(([, name = '', route = '']) => ({ name, route })),
)

test('a change whose answer the service repeats is only sent with a key for that', () => {
  const repeated = declared.filter(({ route }) =>
    routes.some(({ method, path, replayable }) => route === `${method} ${path}` && replayable),
  )
  assert.ok(repeated.length > 5, 'the search found too few changes')
  const names = repeated.map(({ name }) => name).join('|')
  for (const { path, code } of sourceFiles('packages/dashboard/src/**/*.{ts,tsx}'))
    assert.doesNotMatch(code, new RegExp(`\\b(?:${names})\\(`), `${path}: use useOnce`)
})

test('each route is declared once', () => {
  const called = declared.map(({ route }) => route)
  assert.deepEqual(
    called.filter((call, at) => called.indexOf(call) !== at),
    [],
  )
})

test('every call is declared, and only the client sends requests', () => {
  const uses = api.flatMap(({ code }) => code.match(/= endpoint\(/g) ?? [])
  assert.ok(uses.length > 15, 'the search found too few calls')
  assert.equal(uses.length, declared.length)
  for (const { path, code } of sourceFiles('packages/dashboard/src/**/*.{ts,tsx}')) {
    // Snippets and samples are code for a person to copy, which the page does not run.
    if (/\/(?:snippets|[a-z]+-samples)\.ts$/.test(path)) continue
    // The client itself, and two that ask for a file of the service, not for a route of the API.
    if (/\/(?:api\/endpoint|missing-part|widget-version)\.ts$/.test(path)) continue
    assert.doesNotMatch(code, /\bfetch\(|XMLHttpRequest|sendBeacon|EventSource|WebSocket/, path)
  }
})

test('the page has no inline script and no inline style', () => {
  const page = readText('packages/dashboard/index.html')
  assert.match(page, /<meta name="csp-nonce" content="__CSP_NONCE__" \/>/)
  assert.doesNotMatch(page, /<style|style=|<script(?![^>]*\bsrc=)/)
})
