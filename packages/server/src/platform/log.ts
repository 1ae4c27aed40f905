import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** Fields that no log line may carry, wherever they stand. The service logs none of them on purpose. */
const secretFields = [
  'authorization',
  'key',
  'token',
  'password',
  'secret',
  'bootstrapToken',
  'connectionString',
]

/** Structured logs, one JSON object a line. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: {
        paths: secretFields.flatMap(name => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]),
        censor: '[redacted]',
      },
      serializers: { err: describeError },
    },
    destination ?? standardOutput(),
  )
}

let opened: DestinationStream | undefined

/** One for the process, however many logs it has. */
function standardOutput(): DestinationStream {
  opened ??= writeByTurns()
  return opened
}

/**
 * Lines of one turn of the event loop leave in one write: one each was an eighth of a cheap request. Nothing waits
 * longer than that turn, and what an ending process has said is written before it is gone.
 */
function writeByTurns(): DestinationStream {
  const output = pino.destination(1)
  let lines = ''
  const writeOut = () => {
    if (lines !== '') output.write(lines)
    lines = ''
  }
  process.once('exit', writeOut)
  return {
    write(line) {
      if (lines === '') setImmediate(writeOut)
      lines += line
    },
    // What `log.flush()` calls, where the process may be gone before this turn has ended.
    flush(done?: (error?: Error) => void) {
      writeOut()
      done?.()
    },
  } as DestinationStream
}

/**
 * An error for the log: what and where. The driver's `detail` and `parameters` quote row values, so of a
 * database error only its code, constraint and message are kept.
 */
export function describeError(error: unknown): Record<string, unknown> {
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
