import { serveGenerator } from '../harness/generator.ts'
import { type StormCounts, type StormPlan, storm } from './fleet-storm.ts'

/** The storm in a process of its own, on the load's core. */
await serveGenerator<StormPlan, StormCounts>(storm)
