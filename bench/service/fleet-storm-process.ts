import { serveGenerator } from '../harness/generator.ts'
import { type StormCounts, type StormPlan, storm } from './fleet-storm.ts'

/** The storm in its own process, on the load's core. */
await serveGenerator<StormPlan, StormCounts>(storm)
