import { type DestinationStream, type Logger, pino } from 'pino'
import { type LogOutput, openLogOutput } from './log-output.ts'

export type { Logger }

/** Fields that no log line may contain at any depth. The service never logs one of them on purpose. */
const secretFields = [
  'authorization',
  'key',
  'token',
  'password',
  'secret',
  'bootstrapToken',
  'connectionString',
]

/** The configured level of each log, and the loggers that were made of it: a child's level does not follow its parent's. */
const families = new WeakMap<Logger, { level: string; loggers: Logger[] }>()

/** Structured logs, one JSON object per line. @param base what each line has, such as the process of several that wrote it. */
export function createLog(
  level: string,
  destination?: DestinationStream,
  base: Readonly<Record<string, number>> | null = null,
): Logger {
  const loggers: Logger[] = []
  const log = pino(
    {
      level,
      onChild: child => void loggers.push(child),
      base,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: {
        paths: secretFields.flatMap(name => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]),
        censor: '[redacted]',
      },
      serializers: { err: describeError },
    },
    destination ?? standardOutput(base !== null),
  )
  loggers.push(log)
  families.set(log, { level, loggers })
  return log
}

/** Turns debug on, or the configured level on again. @param log as `createLog` returned it. */
export function toggleDebug(log: Logger): void {
  const { level, loggers } = families.get(log) ?? { level: log.level, loggers: [log] }
  const next = log.level === level ? 'debug' : level
  // Logged while the more verbose level is set, so that the change itself is seen.
  if (next === 'debug') for (const logger of loggers) logger.level = next
  log.info({ log_level: next }, 'log level changed')
  for (const logger of loggers) logger.level = next
}

/** The handle is not in the documentation of Node, which has no other way. A file has no handle. */
interface Handled {
  _handle?: { setBlocking?(isBlocking: boolean): unknown }
}

let opened: LogOutput | undefined

/** PIPE_BUF of Linux. */
const pieceBytes = 4_096

/** The one output of the process, however many loggers it has. @param isShared other processes write to it too. */
function standardOutput(isShared: boolean): LogOutput {
  if (opened === undefined) {
    const { fd, isTTY, _handle } = process.stdout as typeof process.stdout & Handled
    // Node makes a pipe or a socket non-blocking, but a child that inherits it makes it block again, at its start and its end.
    const unblock = isTTY ? undefined : () => _handle?.setBlocking?.(false)
    opened = openLogOutput({
      fd,
      describeDropped,
      ...(unblock && { unblock }),
      ...(isShared && { pieceBytes }),
    })
    process.once('exit', () => opened?.flush())
  }
  return opened
}

/** How many lines standard output did not take in time. */
export const linesDropped = (): number => opened?.dropped ?? 0

/** Logged at any level, because the line is about the log itself. */
const describeDropped = (lines: number) =>
  `{"level":"warn"${pino.stdTimeFunctions.isoTime()},"lines":${lines},"msg":"log lines were dropped: standard output took no more"}\n`

/**
 * Describes an error for the log: its message and where it occurred. The driver's `detail` and `parameters` quote row values,
 * so only the code, constraint and message of a database error are kept.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code, constraint, table } = error as Error & Record<string, unknown>
  return {
    type: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint }),
    ...(table !== undefined && { table }),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }
}
