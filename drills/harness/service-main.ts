import { readConfig } from '../../packages/server/src/config.ts'
import { startService } from '../../packages/server/src/main.ts'
import type { Clock } from '../../packages/server/src/platform/clock.ts'
import { createLog } from '../../packages/server/src/platform/observe/log.ts'
import { encryptionKey } from '../../packages/server/test/encryption-key.ts'
import type { ClockMessage, StartMessage } from './service.ts'

/** The service in its own process, for drills that kill it. It receives its commands from the parent. */
let offsetMs = 0
const clock: Clock = { now: () => Date.now() + offsetMs, monotonic: () => performance.now() }

process.on('message', async (message: StartMessage | ClockMessage) => {
  if (message.type === 'clock') {
    offsetMs = message.offsetMs
    process.send?.({ type: 'clock set' })
    return
  }
  const { config } = readConfig({ SERVICE_ENCRYPTION_KEY: encryptionKey, ...message.env })
  const { url } = await startService({
    config,
    log: createLog(config.logLevel),
    connection: message.connection,
    clock,
  })
  process.send?.({ type: 'listening', url })
})

process.on('disconnect', () => process.exit())
