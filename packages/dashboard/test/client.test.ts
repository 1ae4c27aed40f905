import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { routes } from '../../server/src/routes.ts'
import { readText, sourceFiles } from '../../server/test/source-files.ts'

/** The calls of the dashboard, as its sources declare them. */
interface Declared {
  readonly where: string
  readonly name: string
  readonly method: string
  readonly path: string
  readonly isOpen: boolean
  /** The names of types by their part: `id`, `query`, `body`, `answer` or `step`. */
  readonly parts: Readonly<Record<string, string>>
}

const api = sourceFiles('packages/dashboard/src/api/*.ts')
const declaration = /\bconst (\w+) = endpoint<\{([^}]*)\}>\(\s*'(\w+)',\s*'([^']+)'(,\s*'open')?,?\s*\)/g
const declared: Declared[] = api.flatMap(({ path: where, code }) =>
  [...code.matchAll(declaration)].map(([, name = '', shape = '', method = '', path = '', open]) => ({
    where,
    name,
    method,
    path,
    isOpen: open !== undefined,
    parts: Object.fromEntries([...shape.matchAll(/(\w+): (\w+)/g)].map(([, part, type]) => [part, type])),
  })),
)

const schemas = new Map<string, unknown>()
for (const path of globSync('packages/contract/src/**/*.ts')) {
  const module: Record<string, unknown> = await import(`../../../${path}`)
  for (const [name, value] of Object.entries(module)) schemas.set(`${path} ${name}`, value)
}
/** Whether a schema has this name in the contract. Two files may use one name. */
const isNamed = (name: string | undefined, schema: unknown) =>
  [...schemas].some(([key, value]) => key.endsWith(` ${name}`) && value === schema)

const requiredOf = (schema: object | null) => (schema !== null && 'required' in schema ? schema.required : [])

test('every call of the dashboard is a route of the service, with the shapes of the contract', () => {
  assert.ok(declared.length > 15, 'the search found too few calls')
  for (const { where, method, path, isOpen, parts } of declared) {
    const name = `${where}: ${method} ${path}`
    const route = routes.find(one => one.method === method && one.path === path)
    assert.ok(route, `${name} is no route`)
    assert.equal(isOpen, route.plane === 'open', `${name}: with or without a credential`)
    assert.equal('id' in parts, path.includes(':'), `${name}: its id`)
    // A body in which nothing is required may be left out.
    if (parts.body === undefined) assert.deepEqual(requiredOf(route.body), [], `${name}: its body`)
    else assert.ok(isNamed(parts.body, route.body), `${name}: the body is no ${parts.body}`)
    if (parts.query !== undefined)
      assert.ok(isNamed(parts.query, route.query), `${name}: the query is no ${parts.query}`)
    if (parts.step !== undefined) {
      assert.ok(route.answer.lines, `${name} has no lines`)
      assert.ok(
        [...schemas.keys()].some(key => key.endsWith(` ${parts.step}`)),
        `${name}: no ${parts.step}`,
      )
    }
    if (parts.answer !== 'unknown')
      assert.ok(isNamed(parts.answer, route.answer.schema), `${name}: the answer is no ${parts.answer}`)
  }
})

test('a change whose answer the service repeats is only sent with a key for that', () => {
  const repeated = declared.filter(({ method, path }) =>
    routes.some(route => route.method === method && route.path === path && route.replayable),
  )
  assert.ok(repeated.length > 5, 'the search found too few changes')
  const names = repeated.map(({ name }) => name).join('|')
  for (const { path, code } of sourceFiles('packages/dashboard/src/**/*.{ts,tsx}'))
    assert.doesNotMatch(code, new RegExp(`\\b(?:${names})\\(`), `${path}: use useOnce`)
})

test('each route is declared once', () => {
  const called = declared.map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(
    called.filter((call, at) => called.indexOf(call) !== at),
    [],
  )
})

test('every call is declared, and only the client sends requests', () => {
  const uses = api.flatMap(({ code }) => code.match(/\bendpoint</g) ?? [])
  // One use is the function itself.
  assert.equal(uses.length - 1, declared.length)
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
