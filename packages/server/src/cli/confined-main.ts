import { startService } from '../main.ts'
import { fromPortable } from '../platform/db/connection.ts'
import { createLog, type Logger } from '../platform/log.ts'
import { type FromService, revive, type Start } from './confined-messages.ts'
import { explain } from './failure.ts'
import { explainListening } from './listening.ts'
import { outliveReaders } from './output.ts'

/**
 * The process that listens, where root has started the service: it has neither root's rights nor a way to them. The one
 * that has started it keeps Postgres, and says when to close. They end together.
 */

type Service = Awaited<ReturnType<typeof startService>>

const tell = (message: FromService) => process.send?.(message)
let service: Promise<Service> | undefined
let log: Logger | undefined

outliveReaders()
// The kernel ends us with it where it can; this is for where it cannot.
process.on('disconnect', () => process.exit(1))
// A terminal signals both processes. One of them decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => tell({ kind: 'signal', signal }))
process.on('uncaughtException', error => {
  log?.fatal({ err: error }, 'unexpected error')
  log?.flush()
  fail(explain(error))
})
process.on('message', async (text: string) => {
  const message = revive(text)
  if (message.kind === 'start') service = start(message)
  else if (message.kind === 'hurry') (await service)?.hurry()
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
    })
    const { url, metricsUrl } = started
    tell({ kind: 'listening', url, metricsUrl })
    return started
  } catch (error) {
    fail(explain(explainListening(error, config)))
    return await new Promise(() => {})
  }
}

function fail(message: string): void {
  const end = () => process.exit(1)
  // What is said must arrive first.
  if (process.send?.({ kind: 'failed', message } satisfies FromService, end) === undefined) end()
}
