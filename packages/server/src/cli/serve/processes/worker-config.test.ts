import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../config.ts'
import { configOfWorker } from './worker-config.ts'

test('each process has its part of what settings give one process, and the rest is the same', () => {
  const { config } = readConfig({
    SERVICE_PROCESSES: '4',
    SERVICE_AUTH_PER_IP: '30',
    SERVICE_MAX_HELD_POLLS: '0',
  })
  const own = configOfWorker(config)
  assert.deepEqual(own, {
    ...config,
    databasePool: 2,
    maxConnections: 6_250,
    maxHeldPolls: 0,
    maxHeldPollsPerWorkspace: 2_500,
    authPerIp: 7,
  })
  assert.equal(configOfWorker({ ...config, authPerIp: null }).authPerIp, null)
})
