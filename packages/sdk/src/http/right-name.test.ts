import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdmin } from '../admin.ts'
import { requireKey } from '../express.ts'
import { createKeyrail, createKeyring, createLimiter } from '../index.ts'
import { createTestKeyring } from '../testing.ts'
import { createWorkerKeyring } from '../worker.ts'

test('the error about a wrong name of an option has the right one', () => {
  const keyring = createTestKeyring()
  for (const [make, name, right] of [
    [createKeyrail, 'baseUrl', 'url'],
    [createKeyrail, 'projectId', 'project'],
    [createKeyring, 'baseUrl', 'url'],
    [createKeyring, 'projectID', 'project'],
    [createKeyring, 'project_id', 'project'],
    [createKeyring, 'tenantIDs', 'tenantIds'],
    [createKeyring, 'cacheDirectory', 'cacheDir'],
    [createWorkerKeyring, 'pollIntervalMS', 'pollIntervalMs'],
    [createLimiter, 'onUnavailabel', 'onUnavailable'],
    [createKeyring, 'maxAutoCachedKey', 'maxAutoCachedKeys'],
    [createKeyring, 'urls', undefined],
    [createAdmin, 'apiKey', 'secretKey'],
    [(options: object) => requireKey(keyring, options), 'scope', 'scopes'],
    [(options: object) => requireKey(keyring, options), 'colour', undefined],
  ] as const) {
    assert.throws(
      () => make({ [name]: 'x' } as never),
      ({ message }: TypeError) => {
        const [, named] =
          / has no option "\w+"(?:: it is called "(\w+)")?$/.exec(message) ?? assert.fail(message)
        return named === right || assert.fail(`${name}: ${message}`)
      },
    )
  }
})
