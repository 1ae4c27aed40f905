import { startService } from '../../main.ts'
import { fromPortable } from '../../platform/db/connection.ts'
import { noteValueFile } from '../../platform/files/value-file.ts'
import { createLog, type Logger, toggleDebug } from '../../platform/observe/log.ts'
import { explain } from '../failure.ts'
import { outliveReaders } from '../output.ts'
import { type FromService, revive, type Start } from './confined-messages.ts'
import { explainListening } from './listening.ts'

/**
 * The listening process if root has started the service: it has no rights of root's and cannot regain them. The
 * process that started it keeps Postgres and orders the close. They end together.
 */

type Service = Awaited<ReturnType<typeof startService>>

const send = (message: FromService) => process.send?.(message)
let service: Promise<Service> | undefined
let log: Logger | undefined

outliveReaders()
// Where the kernel can, it ends this process with its parent; this covers the other systems.
process.on('disconnect', () => process.exit(1))
// A terminal signals both processes. Only the parent decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => send({ kind: 'signal', signal }))
const toggleLog = () => {
  if (log !== undefined) toggleDebug(log)
}
process.on('SIGUSR2', toggleLog)
process.on('uncaughtException', error => {
  log?.fatal({ err: error }, 'unexpected error')
  log?.flush()
  fail(explain(error))
})
process.on('message', async (text: string) => {
  const message = revive(text)
  if (message.kind === 'start') service = start(message)
  else if (message.kind === 'leave') (await service)?.leave()
  else if (message.kind === 'hurry') (await service)?.hurry()
  else if (message.kind === 'toggle debug') toggleLog()
  else if (message.kind === 'value file') noteValueFile(message.path, message.text)
  else if (message.kind === 'dashboard') (await service)?.reportDashboard(message.state)
  else {
    await (await service)?.close()
    log?.flush()
    process.exit(0)
  }
})

async function start({ config, connection, direct }: Start): Promise<Service> {
  log = createLog(config.logLevel)
  try {
    const started = await startService({
      config,
      log,
      connection: fromPortable(connection),
      directConnection: fromPortable(direct),
      dashboard: { state: { kind: 'looking' } },
    })
    const { url, metricsUrl } = started
    send({ kind: 'listening', url, metricsUrl })
    return started
  } catch (error) {
    fail(explain(explainListening(error, config)))
    return await new Promise(() => {})
  }
}

function fail(message: string): void {
  const end = () => process.exit(1)
  // The message must arrive first.
  if (process.send?.({ kind: 'failed', message } satisfies FromService, end) === undefined) end()
}
