import { type HttpProblem, misusedProblem } from '../http/problem.ts'
import { warn } from '../runtime/reports.ts'

/**
 * What stands behind `requireKey` finds no key where it was put before it, or where there is no `requireKey` at all. The
 * customer can do nothing about that, so they get a 500, and the process warning tells the vendor, once for each place.
 *
 * @param name of what was misplaced
 */
export function tellMisplaced(name: string): () => HttpProblem {
  let isTold = false
  return function misplaced() {
    if (!isTold) {
      isTold = true
      warn(
        `${name} finds no key, because no requireKey has run before it. Put requireKey(keyring) before ${name} on the same route or router. Until then its requests are answered 500.`,
        'middleware_order',
      )
    }
    return misusedProblem()
  }
}
