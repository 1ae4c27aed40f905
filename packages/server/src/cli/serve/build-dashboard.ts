import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BuildState } from '../../dashboard/dashboard.ts'
import type { Account } from '../../platform/db/embedded/account.ts'
import { canReach } from '../../platform/db/embedded/directory.ts'
import { findConfinement } from '../../platform/host/confinement.ts'
import { checkout, mayRead } from '../../platform/host/reach.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { inform } from '../output.ts'
import { lastLines } from './build-output.ts'

interface Parts {
  log: Logger
  /** Where the dashboard opens. */
  address: string
  report(state: BuildState): void
}

export interface DashboardBuild {
  /** Ends a build that is still running. */
  stop(): Promise<void>
}

const folder = join(checkout, 'packages/dashboard')
const program = join(folder, 'build.ts')

/** A build takes some seconds; one that hangs must not say "being built" for ever. */
const buildMsMax = 600_000
const outputLengthMax = 100_000

/**
 * Builds the dashboard in a separate process if its sources have changed, and reports what `/app` shall show. An
 * installation without the sources, such as an image, serves what it has.
 */
export function buildDashboard({ log, address, report }: Parts): DashboardBuild {
  if (!existsSync(program) || !existsSync(join(folder, 'src'))) {
    reportPrebuilt(log, report)
    return { stop: async () => {} }
  }
  const child = startBuild()
  const ended = Promise.withResolvers<void>()
  const began = performance.now()
  let output = ''
  let isBuilding = false
  let isStopped = false
  const keepOutput = (text: string) => {
    output = (output + text).slice(-outputLengthMax)
  }
  const limit = setTimeout(() => {
    keepOutput('\nThe build took longer than ten minutes.')
    child.kill('SIGKILL')
  }, buildMsMax)
  const takeAlong = () => child.kill('SIGKILL')
  process.once('exit', takeAlong)

  child.stderr?.setEncoding('utf8').on('data', keepOutput)
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on('line', line => {
      if (line === 'building' || line === 'waiting') reportProgress(line)
      else keepOutput(`${line}\n`)
    })
  // It closes after that too.
  child.once('error', error => keepOutput(error.message))
  child.once('close', (code, signal) => {
    if (signal !== null) keepOutput(`\nThe build was ended by ${signal}.`)
    end(code)
  })

  function reportProgress(line: 'building' | 'waiting'): void {
    isBuilding = line === 'building'
    report({ kind: 'building' })
    inform(
      isBuilding
        ? 'Building the dashboard, because its sources are new. The API is ready meanwhile.'
        : 'Waiting for another process, which builds the dashboard.',
    )
  }
  function end(code: number | null): void {
    clearTimeout(limit)
    process.off('exit', takeAlong)
    if (!isStopped) conclude(code)
    ended.resolve()
  }
  function conclude(code: number | null): void {
    const lines = lastLines(output, checkout)
    if (code !== 0 && code !== 2) {
      log.error({ exit_code: code, output: lines }, 'dashboard could not be built')
      inform(
        ['The dashboard could not be built. The API is not affected. The build ended with', ...lines].join(
          '\n  ',
        ),
      )
      report({ kind: 'failed' })
      return
    }
    report({ kind: 'built' })
    if (code === 2) log.warn({ output: lines }, 'dashboard is older than its sources')
    if (!isBuilding || code === 2) return
    const seconds = Number(((performance.now() - began) / 1000).toFixed(1))
    log.info({ seconds }, 'dashboard built')
    inform(`Built the dashboard in ${seconds} s: ${address}`)
  }
  return {
    async stop() {
      isStopped = true
      child.kill()
      await ended.promise
      // Requests may still wait for the first report.
      report({ kind: 'building' })
    },
  }
}

function reportPrebuilt(log: Logger, report: Parts['report']): void {
  if (existsSync(join(folder, 'dist/index.html'))) {
    report({ kind: 'built' })
    return
  }
  log.warn('this installation has neither a built dashboard nor its sources')
  report({ kind: 'failed' })
}

/**
 * Code of other authors runs here, so it gets no setting of the service, which may be a secret, and no right that it does
 * not need: started by root it runs as the owner of the sources, who can write the build.
 */
function startBuild(): ChildProcess {
  const { command, before, identity } = findIdentity() ?? { command: '', before: [], identity: {} }
  const words = [...before, process.execPath, program]
  const [file = '', ...args] = command === '' ? words : [command, ...words]
  return spawn(file, args, { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'pipe'], ...identity })
}

function findIdentity() {
  if (process.geteuid?.() !== 0) return null
  const { uid, gid } = statSync(folder)
  const owner: Account = { name: String(uid), uid, gid, switched: true }
  const reaches = canReach(folder, owner)
  // User id 0 without capabilities has only the rights of an owner, so a closed folder of another stops it.
  if (uid === 0)
    return findConfinement({ account: undefined, groups: [], keeps: reaches ? [] : ['dac_read_search'] })
  if (!reaches || !mayRead(process.execPath, owner)) return null
  return findConfinement({ account: owner, groups: [], keeps: [] })
}
