import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorCode, errors } from '@keyrail/contract/errors'
import { refusalsOf } from '../src/reference.ts'
import { routes } from '../src/routes.ts'
import { readText, serviceFiles, stringsOf } from './source-files.ts'

const codes = Object.keys(errors) as ErrorCode[]
const files = serviceFiles()

/** Codes that are answered before or outside of any route. */
const outsideOfRoutes: ErrorCode[] = [
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'headers_too_large',
]

/** What a route says that it can refuse with; it throws nothing. */
const refusalList = /refusals: \[([^\]]*)\]/g

/** The page's sections by their code. */
const sections = new Map(
  readText('docs/errors.md')
    .split(/^## /m)
    .slice(1)
    .map(section => [section.split('\n')[0] ?? '', section] as const),
)

test('every code has its section in docs/errors.md, in the order of the catalogue, and no section is of a code that is gone', () => {
  assert.deepEqual([...sections.keys()], codes)
})

test('every section states the status of the catalogue and how to mend it', () => {
  for (const [code, section] of sections) {
    const [status] = errors[code as ErrorCode]
    assert.match(section, new RegExp(`^Status ${status}[.,]`, 'm'), code)
    assert.match(section, /^- Fix: /m, code)
  }
})

test('a code’s name has the form that a program can rely on, and its status is an error', () => {
  for (const [code, [status, meaning]] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(status >= 400 && status <= 599, code)
    assert.ok(meaning.length > 10 && !meaning.endsWith('.'), code)
  }
})

test('every code is thrown or mapped somewhere in the service', () => {
  const used = new Set(
    files
      .filter(({ path }) => !path.endsWith('src/reference.ts'))
      .flatMap(file => stringsOf({ ...file, text: file.code.replace(refusalList, '') })),
  )
  for (const code of codes) assert.ok(used.has(code), `${code} is never thrown`)
})

test('every code that is thrown or admitted stands in the catalogue', () => {
  for (const { path, code } of files) {
    const thrown = [...code.matchAll(/new Refusal\(\s*'([^']*)'/g)].map(([, name = '']) => name)
    const admitted = [...code.matchAll(refusalList)].flatMap(([, list = '']) =>
      [...list.matchAll(/'([^']*)'/g)].map(([, name = '']) => name),
    )
    for (const name of [...thrown, ...admitted]) assert.ok(name in errors, `${path}: ${name}`)
  }
})

test('every code is admitted by a route, or answered outside of any', () => {
  const admitted = new Set(routes.flatMap(refusalsOf))
  for (const code of codes) {
    assert.notEqual(admitted.has(code), outsideOfRoutes.includes(code), code)
  }
})
