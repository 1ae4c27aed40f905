import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { startKeyrail } from '../../test/service.ts'
import { createAdmin } from '../admin.ts'

const { connection, vendor } = await startKeyrail()

test('a warning of the service about a scope reaches the process, once', async () => {
  const admin = createAdmin(connection)
  const { projectId, tenantId } = vendor
  const create = (...scopes: string[]) => admin.keys.create({ projectId, tenantId, env: 'live', scopes })
  const warnings: (Error & { code?: string })[] = []
  const listen = (warning: Error) => void (warning.name === 'KeyrailWarning' && warnings.push(warning))
  process.on('warning', listen)
  try {
    await create('orders:read')
    const warned = once(process, 'warning')
    await create('orders:*')
    await warned
    await create('refunds:*')
    // Warnings are delivered in order, so an earlier one would have come.
    const last = once(process, 'warning')
    await create('orders:read', 'a b')
    await last
  } finally {
    process.off('warning', listen)
  }
  assert.deepEqual(
    warnings.map(({ code, message }) => [code, message]),
    ['scopes.0', 'scopes.1'].map(path => [
      'service_warning',
      `POST /v1/keys: ${path}: scopes match exactly, so a scope has no spaces and no wildcard (*)`,
    ]),
  )
})
