import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The service that answers the calls of the dashboard during development. */
interface Service {
  readonly url: string
  /** Ends the service, if it was started here. */
  stop(): Promise<void>
}

const checkout = join(import.meta.dirname, '..', '..')
const untilNextLookMs = 200
/** Two minutes: a first start also makes the database. */
const looksMost = 600

/** The service that listens on SERVICE_PORT; otherwise one that starts there, on the data of `npm start`. */
export async function findService(): Promise<Service> {
  const url = `http://127.0.0.1:${process.env.SERVICE_PORT ?? '8080'}`
  if (await answers(url)) return { url, stop: async () => {} }
  const main = join(checkout, 'packages/server/src/cli/main.ts')
  const child = spawn(process.execPath, ['--conditions=keyrail-source', main, 'serve'], {
    cwd: checkout,
    stdio: 'inherit',
    env: {
      // Mailed links lead to the sources too.
      SERVICE_PUBLIC_URL: `http://127.0.0.1:${process.env.KEYRAIL_DEV_PORT ?? 5173}`,
      SERVICE_LOG_LEVEL: 'warn',
      ...process.env,
      SERVICE_DASHBOARD: 'off',
    },
  })
  const ended = once(child, 'exit')
  let isStopping = false
  child.once('exit', code => {
    // The service has logged the reason.
    if (!isStopping) process.exit(code ?? 1)
  })
  for (let looks = 0; !(await answers(url)); looks += 1) {
    if (looks === looksMost) throw new Error(`no service answers at ${url}`)
    await sleep(untilNextLookMs)
  }
  return {
    url,
    async stop() {
      isStopping = true
      child.kill()
      await ended
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`)).ok
  } catch {
    return false
  }
}
