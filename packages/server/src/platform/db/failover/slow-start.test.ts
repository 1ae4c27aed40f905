import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial } from 'node:net'
import { pipeline } from 'node:stream'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { encryptionKeys } from '../../../../test/encryption-key.ts'
import { serviceBudgets } from '../../budgets.ts'
import { withConnectMs } from '../connection.ts'
import { serviceSecret } from '../sealed/service-secret.ts'
import { openSealedStore } from '../sealed/store.ts'

const { connection, drop } = await makeDatabase(testCluster())
after(drop)

/** Leads to the Postgres, but only after longer than a request would wait for a connection. */
const slow = createServer(async near => {
  await setTimeout(serviceBudgets.connectMs + 200)
  const far = dial(`${connection.host}/.s.PGSQL.${connection.port}`)
  pipeline(near, far, near, () => {})
})
slow.listen(0, '127.0.0.1')
await once(slow, 'listening')
after(() => slow.close())

test('a process starts though its Postgres accepts more slowly than a request would wait', async () => {
  const { port } = slow.address() as AddressInfo
  const through = withConnectMs({ ...connection, host: '127.0.0.1', port }, serviceBudgets.connectMs)
  const store = await openSealedStore(through, { encryptionKeys, databaseUrl: null }, randomBytes)
  assert.equal((await serviceSecret(store, 'cursor', randomBytes)).length, 32)
})
