import type { Metrics } from './platform/observe/metrics.ts'
import { version } from './version.ts'

/** Loaded only if there is a metrics port: the library takes a tenth of the start time of the service. */
export async function countedMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('./platform/observe/prometheus.ts')
  return createMetrics({ version, node: process.version })
}
