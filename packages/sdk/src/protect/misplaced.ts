import { type HttpProblem, misusedProblem } from '../http/problem.ts'
import { warn } from '../runtime/reports.ts'

/**
 * For middleware that needs `requireKey` before it. A request without a verified key gets 500, because the customer cannot act
 * on it, and a process warning explains the order to the vendor, once for each place.
 *
 * @param name of the middleware
 */
export function warnMisplaced(name: string): () => HttpProblem {
  let hasWarned = false
  return function misplaced() {
    if (!hasWarned) {
      hasWarned = true
      warn(
        `${name} finds no key, because requireKey did not run before it. Put requireKey(keyring) before ${name} on the same route or router. Until then its requests get 500.`,
        'middleware_order',
      )
    }
    return misusedProblem()
  }
}
