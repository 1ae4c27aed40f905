import { serveGenerator } from '../harness/generator.ts'
import { measureRevocations, type RevocationCounts, type RevocationPlan } from './fleet-revocations.ts'

/** The fleet in its own process, on the load's core. */
await serveGenerator<RevocationPlan, RevocationCounts>(measureRevocations)
