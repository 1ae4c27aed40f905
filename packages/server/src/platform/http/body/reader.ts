import type { TSchema } from 'typebox'

/**
 * Turns a valid body into what the handler uses. A large body is validated and read in the thread that parses
 * it, which imports the module by its URL: the module must export `schema` and `read`.
 */
export interface BodyReader<Body, Read> {
  readonly module: string
  readonly schema: TSchema
  /** @throws {Refusal} `validation_failed` naming what the schema cannot check. */
  read(body: Body): Read
}
