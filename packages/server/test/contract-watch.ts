import assert from 'node:assert/strict'
import { errors, type Problem, problemType, statusBesideCredential } from '@keyrail/contract/errors'
import type { Route } from '../src/gate/route.ts'
import { compile, type Validate } from '../src/platform/http/validate.ts'
import { refusalsOf } from '../src/reference.ts'
import { routes } from '../src/routes.ts'

const watched = routes.map(route => ({
  route,
  path: new RegExp(`^${route.path.replace(/:\w+/, '[^/]+')}$`),
  assertBody: compile(route.answer.schema, 'answer') as Validate,
}))

export interface Heard {
  method: string
  url: string
  status: number
  headers: Record<string, unknown>
  body: unknown
}

/** The route that a request went to, if there is one. */
export const routeOf = (method: string, url: string): Route | undefined => find(method, url)?.route

const find = (method: string, url: string) =>
  watched.find(({ route, path }) => route.method === method && path.test(url.split('?')[0] ?? ''))

/**
 * Holds every answer that a test hears against what the API says of itself: a success has exactly the fields
 * of its schema, an error is a problem with a code that its route admits to.
 */
export function assertKeepsContract({ method, url, status, headers, body }: Heard): void {
  const at = `${method} ${url} answered ${status}: ${JSON.stringify(body)?.slice(0, 500)}`
  assert.match(String(headers['x-request-id']), /^req_[0-9a-f]{24}$/, at)
  assert.equal(headers['set-cookie'], undefined, at)
  const found = find(method, url)
  if (status < 400) {
    if (found === undefined) return
    if (status === 304) {
      assert.deepEqual([found.route.plane, body], ['feed', ''], at)
      return
    }
    assert.equal(status, found.route.answer.status, at)
    assert.doesNotThrow(() => found.assertBody(body), `${at} is not its schema`)
    return
  }
  const problem = body as Problem
  assert.match(String(headers['content-type']), /^application\/problem\+json/, at)
  assert.ok(problem.code in errors, at)
  const [catalogued, title] = errors[problem.code]
  assert.deepEqual(
    [problem.status, problem.title, problem.type],
    [status, title, problemType(problem.code)],
    at,
  )
  const allowed = [catalogued, found?.route.access.open ? undefined : statusBesideCredential[problem.code]]
  assert.ok(allowed.includes(status), at)
  assert.equal(problem.request_id, headers['x-request-id'], at)
  assert.ok(problem.detail.length > 0, at)
  if (found !== undefined)
    assert.ok(refusalsOf(found.route).includes(problem.code), `${at} is not admitted by the route`)
}
