import { randomBytes } from 'node:crypto'
import type { Config } from '../../../config.ts'
import { GatheredFigures } from '../../../platform/observe/gather.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Metrics, ProcessFigures } from '../../../platform/observe/metrics.ts'
import { serveMetrics } from '../../../platform/observe/metrics-server.ts'
import { createMetrics } from '../../../platform/observe/prometheus.ts'
import { version } from '../../../version.ts'
import type { Worker } from './worker.ts'

/** The metrics of all processes on one port. */
export interface ServedFigures {
  readonly url: string
  readonly own: Pick<Metrics, 'processReplaced'>
  note(worker: Pick<Worker, 'id'>, figures: ProcessFigures): void
  /** What an ended process has counted stays. */
  end(worker: Pick<Worker, 'id'>): Promise<void>
  close(): void
}

/** @param serving the processes that listen now. */
export async function serveFigures(
  { host, publicUrl }: Config,
  port: number,
  log: Logger,
  serving: () => readonly Worker[],
): Promise<ServedFigures> {
  const own = createMetrics({ version, node: process.version })
  const gathered = new GatheredFigures()
  const text = async () => {
    // A process tells its figures by `note`; of one that does not answer the last ones count.
    await Promise.all(serving().map((worker, i) => worker.figures(i === 0)))
    return await gathered.text(await own.figures(false))
  }
  const config = { publicUrl }
  const server = await serveMetrics({ host, port, log, randomBytes, config, metrics: { text } })
  const at = server.address()
  const served = typeof at === 'object' && at !== null ? at : { family: 'IPv4', address: host, port }
  const name = served.family === 'IPv6' ? `[${served.address}]` : served.address
  return {
    url: `http://${name}:${served.port}/metrics`,
    own,
    note: ({ id }, figures) => gathered.note(id, figures),
    end: ({ id }) => gathered.end(id),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
