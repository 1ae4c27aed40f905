import { test } from 'node:test'
import { startRedis } from '../../test/redis-server.ts'
import { createLog } from '../platform/log.ts'
import { openRedisCounters } from './redis.ts'
import { testStore } from './store-suite.ts'

const server = await startRedis()
const log = createLog('silent')
const observer = { batchSent() {}, redisFailed() {} }
let time: number
const open = () => openRedisCounters(server.url, { log, observer, now: () => time })
const store = await open()
const other = await open()
test.after(async () => {
  await store.close()
  await other.close()
})

testStore('Redis', async () => ({
  store,
  other,
  async setTime(now) {
    time = now
  },
}))
