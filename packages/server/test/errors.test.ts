import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorCode, errors } from '@keyrail/contract/errors'
import { refusalsOf } from '../src/reference.ts'
import { routes } from '../src/routes.ts'
import { readText, serviceFiles, stringsOf } from './source-files.ts'

const codes = Object.keys(errors) as ErrorCode[]
const files = serviceFiles()

/** Codes that the service returns before or outside of any route. */
const outsideOfRoutes: ErrorCode[] = [
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'headers_too_large',
]

/** The list of refusals in a route. It throws nothing, so the search for thrown codes skips it. */
const refusalList = /refusals: \[([^\]]*)\]/g

/** The page's sections by their code. */
const sections = new Map(
  readText('docs/errors.md')
    .split(/^## /m)
    .slice(1)
    .map(section => [section.split('\n')[0] ?? '', section] as const)
    .filter(([heading]) => heading !== 'Codes of the SDK'),
)

test('docs/errors.md has one section for each code, in the order of the catalogue', () => {
  assert.deepEqual([...sections.keys()], codes)
})

test('every section states the status of the catalogue and how to fix the request', () => {
  for (const [code, section] of sections) {
    const [status] = errors[code as ErrorCode]
    assert.match(section, new RegExp(`^Status ${status}[.,]`, 'm'), code)
    assert.match(section, /^- Fix: /m, code)
  }
})

test('a code’s name has the documented form, and its status is an error', () => {
  for (const [code, [status, meaning]] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(status >= 400 && status <= 599, code)
    assert.ok(meaning.length > 10 && !meaning.endsWith('.'), code)
  }
})

test('the service throws or maps every code', () => {
  const used = new Set(
    files
      .filter(({ path }) => !path.endsWith('src/reference.ts'))
      .flatMap(file => stringsOf({ ...file, text: file.code.replace(refusalList, '') })),
  )
  for (const code of codes) assert.ok(used.has(code), `${code} is never used`)
})

test('every code that is thrown or listed is in the catalogue', () => {
  for (const { path, code } of files) {
    const thrown = [...code.matchAll(/new Refusal\(\s*'([^']*)'/g)].map(([, name = '']) => name)
    const admitted = [...code.matchAll(refusalList)].flatMap(([, list = '']) =>
      [...list.matchAll(/'([^']*)'/g)].map(([, name = '']) => name),
    )
    for (const name of [...thrown, ...admitted]) assert.ok(name in errors, `${path}: ${name}`)
  }
})

test('a route lists every code, or it is returned outside of any route', () => {
  const admitted = new Set(routes.flatMap(refusalsOf))
  for (const code of codes) {
    assert.notEqual(admitted.has(code), outsideOfRoutes.includes(code), code)
  }
})
