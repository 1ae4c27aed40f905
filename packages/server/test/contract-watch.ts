import assert from 'node:assert/strict'
import { errors, type Problem, statusOf } from '@keyrail/contract/errors'
import { compile, type Validate } from '../src/platform/http/validate.ts'
import { refusalsOf } from '../src/reference.ts'
import { routes } from '../src/routes.ts'

const watched = routes.map(route => ({
  route,
  path: new RegExp(`^${route.path.replace(/:\w+/, '[^/]+')}$`),
  assertBody: compile(route.answer.schema, 'answer') as Validate,
  assertLines: compile(route.answer.lines ?? route.answer.schema, 'answer') as Validate,
}))

export interface Heard {
  method: string
  url: string
  status: number
  headers: Record<string, unknown>
  body: unknown
}

/** A path without a parameter before those with one, as the router does. */
function find(method: string, url: string) {
  const [asked = ''] = url.split('?')
  const found = watched.filter(({ route, path }) => route.method === method && path.test(asked))
  return found.find(({ route }) => route.path === asked) ?? found[0]
}

/**
 * Checks every response that a test receives against the API description: a success has exactly the fields of
 * its schema, an error is a problem with a code that the route lists.
 */
export function assertKeepsContract({ method, url, status, headers, body }: Heard): void {
  const at = `${method} ${url} answered ${status}: ${JSON.stringify(body)?.slice(0, 500)}`
  assert.match(String(headers['x-request-id']), /^req_[0-9a-f]{24}$/, at)
  assert.equal(headers['set-cookie'], undefined, at)
  const found = find(method, url)
  if (status < 400) {
    if (found === undefined) return
    if (status === 304) {
      assert.deepEqual([found.route.conditional, body], [true, ''], at)
      return
    }
    assert.equal(status, found.route.answer.status, at)
    const isInLines = headers['content-type'] === 'application/x-ndjson'
    const assertBody = isInLines ? found.assertLines : found.assertBody
    assert.doesNotThrow(() => assertBody(body), `${at} does not match its schema`)
    return
  }
  const problem = body as Problem
  assert.match(String(headers['content-type']), /^application\/problem\+json/, at)
  assert.ok(problem.code in errors, at)
  const [, title] = errors[problem.code]
  assert.deepEqual(
    [problem.status, problem.title, problem.type.replace(/^https?:\/\/[^/]+/, '')],
    [status, title, `/errors/${problem.code}`],
    at,
  )
  const isOpen = found?.route.access.open === true
  assert.ok(
    [false, !isOpen].some(isAuthenticated => statusOf(problem.code, isAuthenticated) === status),
    at,
  )
  assert.equal(problem.request_id, headers['x-request-id'], at)
  assert.ok(problem.detail.length > 0, at)
  if (found !== undefined)
    assert.ok(refusalsOf(found.route).includes(problem.code), `${at} is not listed by the route`)
}
