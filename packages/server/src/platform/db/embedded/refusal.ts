/** The embedded Postgres cannot be used, and a person can fix it: the message says what to do. */
export class EmbeddedRefused extends Error {
  override name = 'EmbeddedRefused'
}

/** Another process uses the data directory: a service, or a command that has started Postgres. */
export class DirectoryHeld extends EmbeddedRefused {}
