import { CompleteBody } from '@keyrail/contract/idempotency'
import type { BodyReader } from '../platform/http/body-reader.ts'
import { type Completion, readCompletion } from './answer.ts'

/** What the holder of a record says, with the answer as it is stored. */
export interface ReadCompletion extends Pick<CompleteBody, 'scope_hash' | 'env' | 'lock_token'>, Completion {}

export const schema = CompleteBody

export const read = (body: CompleteBody): ReadCompletion => {
  const { scope_hash, env, lock_token } = body
  return { scope_hash, env, lock_token, ...readCompletion(body) }
}

/** 4 MiB of base64 take 20 ms to judge and to decode: too long for everybody else to wait. */
export const completionReader: BodyReader<CompleteBody, ReadCompletion> = {
  module: import.meta.url,
  schema,
  read,
}
