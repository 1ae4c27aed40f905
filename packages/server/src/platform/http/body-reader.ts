import type { TSchema } from 'typebox'

/**
 * Makes of a valid body what the handler takes. A large body is judged and read in the thread that parses it, which loads
 * the module by its address: it must export `schema` and `read`.
 */
export interface BodyReader<Body, Read> {
  readonly module: string
  readonly schema: TSchema
  /** @throws {Refusal} `validation_failed` naming what the schema cannot judge. */
  read(body: Body): Read
}
