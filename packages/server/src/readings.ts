import { chainsReading } from './audit/upkeep.ts'
import { type Reading, recoveryReading } from './platform/db/readings.ts'
import { mailReading } from './platform/mail/reading.ts'
import { nodesReading } from './policy/reading.ts'

/** Everything that a scrape of the metrics reads from the database. */
export const readings: readonly Reading[] = [recoveryReading, nodesReading, mailReading, chainsReading]
