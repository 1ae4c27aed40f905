/** What the embedded Postgres has to say goes through this much of a pino logger. */
export type Log = {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
}
