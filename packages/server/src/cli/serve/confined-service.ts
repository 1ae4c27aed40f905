import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Config } from '../../config.ts'
import type { BuildState } from '../../dashboard/dashboard.ts'
import { type Connection, toPortable } from '../../platform/db/connection.ts'
import { followValueFiles } from '../../platform/files/value-file.ts'
import { type Confinement, isConfined } from '../../platform/host/confinement.ts'
import { type Capability, readProcessStatus } from '../../platform/host/process-status.ts'
import { CommandFailed } from '../failure.ts'
import { type FromService, several, type ToService } from './confined-messages.ts'

/** A service in a separate process, which this one controls. */
interface ConfinedService {
  readonly url: string
  readonly metricsUrl: string | null
  reportDashboard(state: BuildState): void
  leave(): void
  close(): Promise<void>
  hurry(): void
  toggleDebug(): void
  roll(config: Config): void
}

interface ConfinedParts {
  config: Config
  connection: Connection
  direct: Connection
  dashboard: BuildState
  /** The listening process has received a stop signal. */
  onSignal(signal: NodeJS.Signals): void
  /** It has ended unexpectedly. */
  onBroken(error: Error): void
}

/** A process that has dropped its rights and waits for the start message. */
export interface Launched {
  /** The user id under which it runs. */
  uid: number
  /** @throws {CommandFailed} if it cannot listen, or has more rights than it should. */
  start(parts: ConfinedParts): Promise<ConfinedService>
}

const program = fileURLToPath(new URL('confined-main.ts', import.meta.url))

/**
 * Starts the listening process. It loads its code while Postgres starts.
 * @param isSeveral it only starts those that serve, and loads no code of theirs.
 */
export function launchConfined(
  { command, before, identity, uid }: Confinement,
  keeps: readonly Capability[],
  isSeveral: boolean,
): Launched {
  const words = [...before, process.execPath, ...process.execArgv, program, ...(isSeveral ? [several] : [])]
  const [file = '', ...args] = command === '' ? words : [command, ...words]
  // The account may not be able to read root's current folder, where libraries look for their settings.
  const child = spawn(file, args, { cwd: '/', stdio: ['inherit', 'inherit', 'inherit', 'ipc'], ...identity })
  const ended = Promise.withResolvers<string>()
  child.once('exit', (code, signal) => ended.resolve(signal ?? `code ${code}`))
  child.once('error', error => ended.resolve(error.message))
  // It ends with this process, whatever happens.
  const takeAlong = () => child.kill('SIGKILL')
  process.once('exit', takeAlong)
  ended.promise.then(() => process.off('exit', takeAlong))
  return { uid, start: parts => start(child, ended.promise, keeps, parts) }
}

async function start(
  child: ChildProcess,
  ended: Promise<string>,
  keeps: readonly Capability[],
  { config, connection, direct, dashboard, onSignal, onBroken }: ConfinedParts,
): Promise<ConfinedService> {
  const send = (message: ToService) => {
    if (child.connected) child.send(JSON.stringify(message))
  }
  const answered = Promise.withResolvers<FromService>()
  let isListening = false
  let isClosing = false
  const broken = (message: string) => onBroken(new CommandFailed(message))
  child.on('message', (message: FromService) => {
    if (message.kind === 'signal') onSignal(message.signal)
    else if (isListening && message.kind === 'failed') broken(message.message)
    else answered.resolve(message)
  })
  ended.then(how => {
    answered.resolve({
      kind: 'failed',
      message: `The listening process ended before it could listen: ${how}.`,
    })
    if (isListening && !isClosing) broken(`The listening process ended: ${how}.`)
  })
  send({ kind: 'start', config, connection: toPortable(connection), direct: toPortable(direct), dashboard })
  const answer = await answered.promise
  const status = readProcessStatus(child.pid ?? 0)
  const hasTooMuch = status !== undefined && !isConfined(status, keeps)
  if (answer.kind !== 'listening' || hasTooMuch) {
    child.kill('SIGKILL')
    await ended
    const kept = 'The listening process still has capabilities that it should have lost.'
    throw new CommandFailed(answer.kind === 'failed' ? answer.message : kept)
  }
  isListening = true
  const stopFollowing = followValueFiles(Object.values(config.valueFiles), (path, text) =>
    send({ kind: 'value file', path, text }),
  )
  ended.then(stopFollowing)
  return {
    url: answer.url,
    metricsUrl: answer.metricsUrl,
    reportDashboard: state => send({ kind: 'dashboard', state }),
    leave: () => send({ kind: 'leave' }),
    hurry: () => send({ kind: 'hurry' }),
    toggleDebug: () => send({ kind: 'toggle debug' }),
    roll: next => send({ kind: 'roll', config: next }),
    async close() {
      isClosing = true
      send({ kind: 'close' })
      await ended
    },
  }
}
