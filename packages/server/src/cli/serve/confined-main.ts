import cluster from 'node:cluster'
import type { Config } from '../../config.ts'
import type { Service } from '../../main.ts'
import { fromPortable } from '../../platform/db/connection.ts'
import { noteValueFile } from '../../platform/files/value-file.ts'
import { createLog, type Logger, toggleDebug } from '../../platform/observe/log.ts'
import { explain } from '../failure.ts'
import { outliveReaders } from '../output.ts'
import { type FromService, revive, type Start, several, type ToService } from './confined-messages.ts'
import { explainListening } from './listening.ts'

/**
 * The listening process if root has started the service: it has no rights of root's and cannot regain them. The
 * process that started it keeps Postgres and orders the close. They end together. The same program is each of several
 * processes that share the port, and the one between them and root.
 */

/** What listens: the service of this process, or several processes. */
interface Listening
  extends Pick<Service, 'url' | 'metricsUrl' | 'reportDashboard' | 'leave' | 'close' | 'hurry'> {
  readonly deps?: Service['deps']
  toggleDebug?(): void
  noteValueFile?(path: string, text: string): void
  roll?(config: Config): Promise<void>
}

const send = (message: FromService, sent?: () => void) => process.send?.(message, undefined, undefined, sent)
const loadService = () => import('../../main.ts')
let service: Promise<Listening> | undefined
let log: Logger | undefined

outliveReaders()
// Where the kernel can, it ends this process with its parent; this covers the other systems.
process.on('disconnect', () => process.exit(1))
// A terminal signals both processes. Only the parent decides.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => send({ kind: 'signal', signal }))
const toggleLog = async () => {
  if (log === undefined) return
  toggleDebug(log)
  ;(await service)?.toggleDebug?.()
}
process.on('SIGUSR2', toggleLog)
process.on('uncaughtException', error => {
  log?.fatal({ err: error }, 'unexpected error')
  log?.flush()
  fail(explain(error))
})
process.on('message', (text: string) => void obey(revive(text)))
// While Postgres starts.
if (!process.argv.includes(several)) void loadService()

async function obey(message: ToService): Promise<void> {
  if (message.kind === 'start') service = start(message)
  else if (message.kind === 'leave') (await service)?.leave()
  else if (message.kind === 'hurry') (await service)?.hurry()
  else if (message.kind === 'toggle debug') await toggleLog()
  else if (message.kind === 'value file') {
    noteValueFile(message.path, message.text)
    ;(await service)?.noteValueFile?.(message.path, message.text)
  } else if (message.kind === 'dashboard') (await service)?.reportDashboard(message.state)
  else if (message.kind === 'roll') await (await service)?.roll?.(message.config)
  else if (message.kind === 'figures') await tellFigures(message.id, message.isFirst)
  else await end(message.isReplaced ?? false)
}

async function start(message: Start): Promise<Listening> {
  const { config, worker } = message
  log = createLog(config.logLevel, undefined, worker === undefined ? null : { worker, pid: process.pid })
  try {
    const started = await listen(message, log)
    const { url, metricsUrl } = started
    send({ kind: 'listening', url, metricsUrl })
    return started
  } catch (error) {
    fail(explain(explainListening(error, config)))
    return await new Promise(() => {})
  }
}

async function listen({ config, connection, direct, dashboard }: Start, log: Logger): Promise<Listening> {
  const parts = { config, log, connection: fromPortable(connection) }
  if (config.processes > 1 && !cluster.isWorker) {
    const { startProcesses } = await import('./processes/processes.ts')
    return await startProcesses({
      ...parts,
      direct: fromPortable(direct),
      dashboard,
      onSignal: signal => send({ kind: 'signal', signal }),
      onBroken: error => fail(error.message),
    })
  }
  const { startService } = await loadService()
  return await startService({
    ...parts,
    directConnection: fromPortable(direct),
    dashboard: { state: dashboard },
  })
}

async function tellFigures(id: number | null, isFirst: boolean): Promise<void> {
  const figures = (await (await service)?.deps?.metrics.figures(isFirst)) ?? []
  await new Promise<void>(sent => {
    if (send({ kind: 'figures', id, figures }, sent) === undefined) sent()
  })
}

async function end(isReplaced: boolean): Promise<void> {
  await (await service)?.close(isReplaced)
  // What it has counted stays counted.
  if (cluster.isWorker) await tellFigures(null, false)
  log?.flush()
  process.exit(0)
}

function fail(message: string): void {
  const end = () => process.exit(1)
  // The message must arrive first.
  if (send({ kind: 'failed', message }, end) === undefined) end()
}
