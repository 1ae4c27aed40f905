/**
 * A service reduced to its embedded Postgres, for tests that kill it: it prints one JSON line when it is up and
 * one per log line, and stops on SIGTERM. Arguments: data directory, state directory.
 */
import { startEmbedded } from '../src/platform/db/embedded/start.ts'

const [dataDir = '', stateDirectory = ''] = process.argv.slice(2)
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const log = {
  info: (_: object, message: string) => say({ event: 'log', message }),
  warn: (_: object, message: string) => say({ event: 'log', message }),
}

try {
  const postgres = await startEmbedded({ dataDir, log, stateDirectory })
  const { connection, dataDirectory, serverVersion, pid } = postgres
  // Postgres alone does not keep this process alive.
  const running = setInterval(() => {}, 60_000)
  process.once('SIGTERM', async () => {
    await postgres.stop()
    clearInterval(running)
  })
  // Last: its reader may send a signal at once.
  say({ event: 'up', connection, dataDirectory, serverVersion, pid })
} catch (error) {
  const { name, message } = error as Error
  say({ event: 'refused', name, message })
  process.exitCode = 1
}
