import { CompleteBody } from '@keyrail/contract/idempotency'
import type { BodyReader } from '../platform/http/body/reader.ts'
import { type Completion, readCompletion } from './answer.ts'

/** A completion as the holder sends it, with the answer in the form in which it is stored. */
export interface ReadCompletion extends Pick<CompleteBody, 'scope_hash' | 'env' | 'lock_token'>, Completion {}

export const schema = CompleteBody

export const read = (body: CompleteBody): ReadCompletion => {
  const { scope_hash, env, lock_token } = body
  return { scope_hash, env, lock_token, ...readCompletion(body) }
}

/** Runs in a thread: 4 MiB of base64 take 20 ms to check and decode, which would delay all other requests. */
export const completionReader: BodyReader<CompleteBody, ReadCompletion> = {
  module: import.meta.url,
  schema,
  read,
}
