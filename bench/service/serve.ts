import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildApp } from '../../packages/server/src/app.ts'
import { startProcesses } from '../../packages/server/src/cli/serve/processes/processes.ts'
import { readConfig } from '../../packages/server/src/config.ts'
import { openDeps } from '../../packages/server/src/deps.ts'
import { unlimited } from '../../packages/server/src/gate/principal.ts'
import { startService } from '../../packages/server/src/main.ts'
import { connectionFromUrl } from '../../packages/server/src/platform/db/connection.ts'
import { createLog } from '../../packages/server/src/platform/observe/log.ts'
import { withoutAudit } from './without-audit.ts'

/**
 * The service on a migrated database, for a bench to start in another process. Settings come from the environment, as
 * in production.
 *
 *   serve.ts                   the service
 *   serve.ts --without-audit   the same without its audit statements: a control, never a product
 *   serve.ts --open-to ID      the same with its request path open to any caller as this workspace: also a control
 */
const { values } = parseArgs({
  options: { 'without-audit': { type: 'boolean', default: false }, 'open-to': { type: 'string' } },
})
const { config: settings } = readConfig(process.env)
// In a folder that no process reads, and not in the checkout.
const mailFolder = mkdtempSync(join(tmpdir(), 'keyrail-bench-mail-'))
process.once('exit', () => rmSync(mailFolder, { recursive: true, force: true }))
const config = {
  ...settings,
  mail: { ...settings.mail, route: { kind: 'folder' as const, path: mailFolder } },
}
if (config.databaseUrl === null) throw new Error('DATABASE_URL is not set')
const outside = {
  config,
  log: createLog(config.logLevel),
  connection: connectionFromUrl(config.databaseUrl),
}
const workspaceId = values['open-to']
if (values['without-audit'] || workspaceId !== undefined) {
  const deps = await openDeps(outside)
  const app = await buildApp({
    ...deps,
    ...(values['without-audit'] && { pool: withoutAudit(deps.pool) }),
    ...(workspaceId && {
      authenticateHot: async () => ({
        ...unlimited,
        kind: 'secret_key',
        sessionId: null,
        id: null,
        workspaceId,
        role: 'owner',
        reach: 'both',
      }),
    }),
  })
  await app.listen({ host: config.host, port: config.port })
  process.once('SIGTERM', async () => {
    await app.close()
    await deps.close()
  })
} else if (config.processes > 1) {
  const { connection } = outside
  const end = () => process.exit(1)
  const parts = { ...outside, direct: connection, dashboard: { kind: 'built' } as const }
  const processes = await startProcesses({ ...parts, onSignal() {}, onBroken: end })
  process.once('SIGTERM', async () => {
    await processes.close()
    process.exit(0)
  })
} else {
  const service = await startService(outside)
  process.once('SIGTERM', () => service.close())
}
