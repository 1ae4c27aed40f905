import type { Reading } from '../platform/observe/readings.ts'
import { countFleets, oldestMissed } from './nodes-sql.ts'

/** The nodes of all projects together. */
export const nodesReading: Reading = {
  figures: [
    {
      name: 'keyrail_nodes',
      help: 'Nodes: live, of these behind their project or full to 80 % or more, or silent for 90 s and seen within a day.',
      labels: ['state'],
    },
    {
      name: 'keyrail_nodes_oldest_acknowledgement_seconds',
      help: 'Time since the live node that was heard longest ago acknowledged a version; it is noted every 30 s.',
    },
    {
      name: 'keyrail_nodes_oldest_missed_change_seconds',
      help: 'Age of the oldest change that a live node has not acknowledged; 0 when there is none.',
    },
  ],
  async read(client) {
    const { rows: fleets } = await client.query(countFleets.text)
    const { rows: missed } = await client.query(oldestMissed.text)
    const [{ live, behind, silent, full, oldest }] = fleets
    return {
      keyrail_nodes: [
        { labels: { state: 'live' }, value: live },
        { labels: { state: 'behind' }, value: behind },
        { labels: { state: 'silent' }, value: silent },
        { labels: { state: 'full' }, value: full },
      ],
      keyrail_nodes_oldest_acknowledgement_seconds: [{ value: Math.max(oldest, 0) }],
      keyrail_nodes_oldest_missed_change_seconds: [{ value: Math.max(missed[0].age, 0) }],
    }
  },
}
