/** The embedded Postgres cannot be used, and the person can do something about it: the message says what. */
export class EmbeddedRefused extends Error {
  override name = 'EmbeddedRefused'
}

/** Another process runs a service on the data directory, or a command that has started Postgres for itself. */
export class DirectoryHeld extends EmbeddedRefused {}
