import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encryptionKey } from '../../../test/encryption-key.ts'
import { readConfig } from '../../config.ts'
import { checkDrain, checkMetrics, checkPublicUrl } from './address.ts'
import type { Check } from './check.ts'

const outside = { DATABASE_URL: 'postgres://u@localhost/d', SERVICE_ENCRYPTION_KEY: encryptionKey }
const look = (
  check: (config: ReturnType<typeof readConfig>['config']) => Check[],
  env: Record<string, string>,
) => {
  const [found] = check(readConfig(env).config)
  if (found?.status === 'warning') assert.ok(found.todo)
  return found?.status
}

test('a public URL with plain HTTP is a warning, unless it leads to this machine', () => {
  const of = (SERVICE_PUBLIC_URL: string) => look(checkPublicUrl, { SERVICE_PUBLIC_URL })
  for (const url of ['http://keys.example.com', 'http://10.0.0.7:8080', 'http://[2001:db8::1]'])
    assert.equal(of(url), 'warning', url)
  for (const url of [
    'https://keys.example.com',
    'http://localhost:8080',
    'http://127.0.0.9',
    'http://[::1]:8080',
  ])
    assert.equal(of(url), undefined, url)
})

test('a metrics port that other machines reach is a warning', () => {
  const of = (env: Record<string, string>) => look(checkMetrics, env)
  assert.equal(of({ SERVICE_HOST: '0.0.0.0' }), undefined)
  assert.equal(of({ SERVICE_METRICS_PORT: '9464' }), 'ok')
  for (const SERVICE_HOST of ['0.0.0.0', '::', '192.0.2.1'])
    assert.equal(of({ SERVICE_HOST, SERVICE_METRICS_PORT: '9464' }), 'warning', SERVICE_HOST)
})

test('no drain delay is a warning where another process may take the requests', () => {
  const of = (env: Record<string, string>) => look(checkDrain, env)
  const away = { SERVICE_PUBLIC_URL: 'https://keys.example.com' }
  assert.equal(of(away), undefined)
  assert.equal(of(outside), undefined)
  assert.equal(of({ ...outside, ...away }), 'warning')
  assert.equal(of({ ...outside, ...away, SERVICE_DRAIN_DELAY_S: '10' }), 'ok')
})
