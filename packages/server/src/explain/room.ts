/**
 * Explains why servers accept or refuse a key. `actions.ts` reads the key, its limits and its nodes; `reasons.ts` judges
 * the facts in the order of the contract, with a sentence for each reason, and `network-reasons.ts` the
 * address. `judged.ts` has what they judge.
 */

import type { Room } from '../gate/room.ts'
import { routes } from './routes.ts'

export const explain = { routes } satisfies Room
