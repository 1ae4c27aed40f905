import { useRef } from 'react'

interface Attempt {
  readonly input: unknown
  readonly idempotencyKey: string
}

/**
 * Sends a change that the service must not make twice. Its answer may be lost after the service has made it, and the person
 * presses again: until an answer arrives, the same values send the same request under the same `Idempotency-Key`, and the
 * service repeats its first answer, without the secret. Other values are another change.
 */
export function useOnce() {
  const attempts = useRef(new Map<string, Attempt>())
  /**
   * @param values what the person chose
   * @param inputOf makes the request from them. It may read the clock.
   */
  return async <Input, Answer>(
    call: (input: Input, options: { idempotencyKey: string }) => Promise<Answer>,
    values: unknown,
    inputOf: () => NoInfer<Input>,
  ): Promise<Answer> => {
    const name = JSON.stringify(values)
    const attempt = attempts.current.get(name) ?? { input: inputOf(), idempotencyKey: newKey() }
    attempts.current.set(name, attempt)
    // A refusal ends no attempt: a repeat may be refused before the service looks for its answer.
    const answer = await call(attempt.input as Input, { idempotencyKey: attempt.idempotencyKey })
    attempts.current.delete(name)
    return answer
  }
}

/** `crypto.randomUUID` is missing where the page came over plain HTTP. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
