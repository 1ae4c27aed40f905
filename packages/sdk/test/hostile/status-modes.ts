import type { Instead } from '../feed-service.ts'
import { type Mode, modesOf } from './mode.ts'

/** Unexpected statuses, with and without a problem of the service, and redirects. */

const problem =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  (): Instead => ({
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: 'about:blank', status, code, detail: 'so it is' },
  })
const bare =
  (status: number, headers: Record<string, string> = {}, body = '') =>
  (): Instead => ({
    status,
    headers,
    body,
  })
const html = '<!doctype html><title>Sign in</title>'
const elsewhere = 'https://login.example.com/start?state=secret'

export const statusModes: Mode[] = modesOf([
  ['401 of the service', problem(401, 'unauthenticated'), 'unauthenticated', { ends: true }],
  ['403 of the service', problem(403, 'insufficient_permission'), 'insufficient_permission', { ends: true }],
  ['404 of the service', problem(404, 'not_found'), 'not_found', { ends: true }],
  ['409 of the service', problem(409, 'conflict'), 'conflict', { ends: true }],
  ['401 of a proxy', bare(401, { 'www-authenticate': 'Basic' }, html), 'http_401'],
  ['403 of a proxy', bare(403, {}, html), 'http_403'],
  ['404 of a proxy', bare(404, {}, html), 'http_404'],
  ['407 of a proxy', bare(407), 'network_error'],
  ['408', bare(408), 'http_408'],
  ['410', bare(410), 'http_410'],
  ['418', bare(418), 'http_418'],
  ['425 of the service', problem(425, 'too_early'), 'too_early'],
  ['429 of the service', problem(429, 'too_many_requests'), 'too_many_requests'],
  [
    '429 with a Retry-After of a second',
    problem(429, 'too_many_requests', { 'retry-after': '1' }),
    'too_many_requests',
  ],
  ['429 with a negative Retry-After', bare(429, { 'retry-after': '-5' }), 'http_429'],
  ['429 with a word as Retry-After', bare(429, { 'retry-after': 'tomorrow' }), 'http_429'],
  ['429 with an infinite Retry-After', bare(429, { 'retry-after': '9'.repeat(400) }), 'http_429'],
  ['429 with a Retry-After in the past', bare(429, { 'retry-after': new Date(0).toUTCString() }), 'http_429'],
  [
    '429 with a Retry-After of thirty years',
    bare(429, { 'retry-after': '999999999' }),
    'http_429',
    { isSlow: true },
  ],
  [
    '503 until the year 9999',
    bare(503, { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }),
    'http_503',
    { isSlow: true },
  ],
  ['500 of the service', problem(500, 'internal_error'), 'internal_error'],
  ['503 of the service', problem(503, 'unavailable', { 'retry-after': '0' }), 'unavailable'],
  ['502 of a proxy', bare(502, {}, html), 'http_502'],
  ['504 of a proxy', bare(504, {}, html), 'http_504'],
  ['599', bare(599), 'http_599'],
  ['500 with a megabyte', bare(500, {}, 'x'.repeat(1024 * 1024)), 'http_500'],
  ['a problem that is a list', bare(400, {}, '[]'), 'http_400'],
  ['a problem whose code is an object', bare(400, {}, '{"code":{"__proto__":1}}'), 'http_400'],
  ['201', bare(201, {}, '{}'), 'http_201'],
  ['204', bare(204), 'http_204'],
  ['206 with a part', bare(206, {}, '{"object"'), 'http_206'],
  ['304 to a first request', bare(304), 'http_304', { only: 'start' }],
  ['300 with choices', bare(300, {}, html), 'http_300'],
  ['a redirect to another host', bare(302, { location: elsewhere }), 'network_error'],
  ['a redirect that keeps the method', bare(307, { location: elsewhere }), 'network_error'],
  ['a redirect for ever', bare(308, { location: '/login' }), 'network_error'],
  ['a redirect to itself', bare(301, { location: '/v1/policy/snapshot' }), 'network_error'],
  ['a redirect to nowhere', bare(303), 'network_error'],
  ['a redirect to no address', bare(302, { location: 'http://[' }), 'network_error'],
  ['a redirect to a script', bare(302, { location: 'javascript:alert(1)' }), 'network_error'],
])
