import type { Config } from '../../config.ts'
import { CommandFailed } from '../failure.ts'

/** Explains an error of opening a port, with the setting to change; returns other errors unchanged. */
export function explainListening(error: unknown, { host, port, metricsPort }: Config): unknown {
  const { syscall, code, port: taken } = error as NodeJS.ErrnoException & { port?: number }
  const lookup = syscall === 'getaddrinfo'
  // Processes that share the port say `bind`.
  if (syscall !== 'listen' && syscall !== 'bind' && !lookup) return error
  const isMetrics = taken !== undefined && taken === metricsPort && taken !== port
  const setting = isMetrics ? 'SERVICE_METRICS_PORT' : 'SERVICE_PORT'
  const place = `${host}:${taken ?? port}`
  if (code === 'EADDRINUSE') {
    return new CommandFailed(
      `${place} is in use by another program. Stop that program, or choose another port with ${setting} (0 chooses a free one).`,
      { cause: error },
    )
  }
  if (code === 'EACCES') {
    return new CommandFailed(
      `This account may not listen on ${place}. Choose a port above 1023 with ${setting}.`,
      {
        cause: error,
      },
    )
  }
  return new CommandFailed(`${host} is not an address of this machine (${code}). Change SERVICE_HOST.`, {
    cause: error,
  })
}
